#include <mgpu/rows/row_facts.hpp>
#include <mgpu/store/journal/payload_upgrade.hpp>

#include "inputs.hpp"
#include "job.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

// In format 1, column `reason` of a row without completions begins with this text.
constexpr const char* kFailed = "failed: ";

bool is_failed(const std::string& reason) {
  return reason.starts_with(kFailed);
}

void make_status(const store::ChunkRows& old, store::ChunkEncoder& encoder) {
  std::vector<std::uint8_t> status;
  for (const std::string& reason : old.texts("reason")) {
    const bool is_too_long = reason.ends_with(" positions");
    const auto failed = is_too_long ? rows::RowStatus::too_long : rows::RowStatus::bad_row;
    status.push_back(static_cast<std::uint8_t>(is_failed(reason) ? failed : rows::RowStatus::ok));
  }
  encoder.column("status", std::span<const std::uint8_t>(status));
}

void make_reason(const store::ChunkRows& old, store::ChunkEncoder& encoder) {
  std::vector<std::string> reasons;
  for (const std::string& reason : old.texts("reason"))
    reasons.push_back(is_failed(reason) ? reason.substr(std::string(kFailed).size()) : "");
  encoder.text("reason", reasons);
}

}  // namespace

store::UpgradeChunk GenerateJob::upgrade_chunks() const {
  return store::PayloadUpgrade(
      completion_table(read_generate_inputs(config_, keys_)),
      {"prompt_index", "sample", "n_prompt_tokens", "n_output_tokens", "finish", "prompt_log_prob",
       "output_log_prob", "prompt_ids", "prompt_log_probs", "output_ids", "output_log_probs",
       "prompt", "output", "reason"},
      {}, {{"status", make_status}, {"reason", make_reason}});
}

}  // namespace mgpu::jobs
