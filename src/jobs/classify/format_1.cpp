#include <array>

#include <mgpu/rows/row_facts.hpp>
#include <mgpu/store/journal/payload_upgrade.hpp>

#include "inputs.hpp"
#include "job.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

/// Converts column `outcome` of format 1 to column `status`. The values of `outcome` were 0
/// success, 1 cut, 2 unknown, 3 too long, 4 bad row. A row with the outcome "unknown" gets the
/// status ok, because column `pred` shows that the row got no label.
void make_status(const store::ChunkRows& old, store::ChunkEncoder& encoder) {
  using rows::RowStatus;
  constexpr std::array kStatus = {RowStatus::ok, RowStatus::truncated, RowStatus::ok,
                                  RowStatus::too_long, RowStatus::bad_row};
  std::vector<std::uint8_t> status;
  for (const std::uint8_t outcome : old.numbers<std::uint8_t>("outcome"))
    status.push_back(static_cast<std::uint8_t>(kStatus.at(outcome)));
  encoder.column("status", std::span<const std::uint8_t>(status));
}

}  // namespace

store::UpgradeChunk ClassifyJob::upgrade_chunks() const {
  using store::ColumnType;
  return store::PayloadUpgrade(
      classify_table(read_classify_inputs(config_, keys_)),
      {"true",        "pred",           "outcome",         "score",           "margin",
       "positive",    "confidence",     "n_prompt_tokens", "n_output_tokens", "strategy",
       "input_text",  "true_label",     "predicted_label", "rationale",       "target_group_norm",
       "persona_tag", "source_dataset", "status",          "reason",          "output",
       "label_scores"},
      {{"outcome", ColumnType::u8, 1, "", ""}, {"status", ColumnType::text, 1, "", ""}},
      {{"status", make_status}});
}

}  // namespace mgpu::jobs
