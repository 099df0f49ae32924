#include <array>
#include <optional>
#include <span>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/lm/config/shared_config.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/model_rows.hpp>
#include <mgpu/rows/tokenizer_files.hpp>

namespace mgpu::rows {
namespace {

/// Returns ModelRows::inputs: the checksums of the rows, the model and the chat template, by key.
/// Includes the number of ranks that share a tensor-parallel model, because it affects rounding.
std::map<std::string, std::string> inputs_of(const ModelRowKeys& keys, const input::RowFile& rows,
                                             const FolderTokenizer& text) {
  std::map<std::string, std::string> inputs = {
      {keys.dataset ? "data.dataset" : "data.path", checksum_text(rows.crc())},
      {"model.path", checksum_text(text.fingerprint)},
      {"data.chat_template", checksum_text(chat_crc(text.files))}};
  if (const int ranks = keys.model.summing_ranks(); ranks > 1)
    inputs["ranks that add up a sum"] = std::to_string(ranks);
  return inputs;
}

ModelRows put_together(const Config& config, const ModelRowKeys& keys, lm::LmConfig model,
                       input::RowFile rows, FolderTokenizer text) {
  const std::array crcs{rows.crc(), text.fingerprint, chat_crc(text.files)};
  std::map<std::string, std::string> inputs = inputs_of(keys, rows, text);
  KeptColumns kept(config, keys.keep_columns, rows, keys.options);
  return {.folder = keys.folder,
          .model = std::move(model),
          .row_options = keys.options,
          .text = std::move(text.files),
          .rows = std::move(rows),
          .kept = std::move(kept),
          .fingerprint = text.fingerprint,
          .crc = crc_with_groups(keys.model, crc32c(std::as_bytes(std::span(crcs)))),
          .inputs = std::move(inputs)};
}

}  // namespace

ModelRows read_model_rows(const cluster::Group& world, const Config& config,
                          const ModelRowKeys& keys, lm::ResidentModels* models) {
  input::RowFile rows = input::open_rows(world, keys.options);
  lm::LmConfig model = lm::read_shared_lm_config(world, keys.folder);
  FolderTokenizer text = read_folder_tokenizer(world, keys.folder, keys.chat, models);
  std::optional<ModelRows> read;
  cluster::run_together(world, [&] {
    read.emplace(put_together(config, keys, std::move(model), std::move(rows), std::move(text)));
  });
  return std::move(*read);
}

ModelRows read_model_rows(const Config& config, const ModelRowKeys& keys) {
  lm::LmConfig model = lm::read_lm_config(keys.folder);
  input::RowFile rows = input::open_rows(keys.options);
  FolderTokenizer text = read_folder_tokenizer(keys.folder, keys.chat);
  return put_together(config, keys, std::move(model), std::move(rows), std::move(text));
}

std::string checksum_text(std::uint32_t crc) {
  return report::text_of("%08x", crc);
}

void record_inputs(const run::RunContext& run, const ModelRows& inputs) {
  run.directory.record_inputs(run.topology.world(), inputs.inputs);
}

void require_recorded_inputs(const cluster::Group& world, const store::RunDirectory& directory,
                             const ModelRows& inputs) {
  cluster::on_rank_0(world, [&] {
    std::vector<std::string> changed;
    for (const auto& [key, value] : store::inputs_of_run(directory.path())) {
      const auto found = inputs.inputs.find(key);
      const std::string now = found == inputs.inputs.end() ? "(none)" : found->second;
      if (now != value)
        changed.push_back("  " + key + ": " + value + " in the run, " + now + " now");
    }
    if (changed.empty()) return;
    throw Failure({"E610", ExitCode::data, "an input has changed since the run read it",
                   std::move(changed),
                   "restore its content, or make the run anew: run.resume=never"});
  });
}

std::vector<std::pair<std::string, std::string>> checksums_of(const ModelRows& inputs) {
  return {{"data", "CRC-32C " + checksum_text(inputs.rows.crc()) + " of the rows"},
          model_checksum(inputs.fingerprint)};
}

std::pair<std::string, std::string> model_checksum(std::uint32_t fingerprint) {
  return {"model", "CRC-32C " + checksum_text(fingerprint) +
                       " of configuration, tokenizer and the ends of each tensor"};
}

void log_head_note(const run::RunContext& run, const ModelRows& inputs) {
  const std::string note = lm::head_note(inputs.folder, inputs.model);
  if (!note.empty()) run.log.event({"note", {{"text", note}}});
}

}  // namespace mgpu::rows
