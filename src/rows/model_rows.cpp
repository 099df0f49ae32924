#include <array>
#include <optional>
#include <span>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/lm/config/shared_config.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/model_rows.hpp>
#include <mgpu/rows/tokenizer_files.hpp>

namespace mgpu::rows {
namespace {

ModelRows put_together(const Config& config, const ModelRowKeys& keys, lm::LmConfig model,
                       input::RowFile rows, FolderText text) {
  const std::array crcs{rows.crc(), text.fingerprint, chat_crc(text.files)};
  KeptColumns kept(config, keys.keep_columns, rows, keys.options);
  return {.folder = keys.folder,
          .model = std::move(model),
          .row_options = keys.options,
          .text = std::move(text.files),
          .rows = std::move(rows),
          .kept = std::move(kept),
          .crc = crc_with_groups(keys.model, crc32c(std::as_bytes(std::span(crcs))))};
}

}  // namespace

ModelRows read_model_rows(const cluster::Group& world, const Config& config,
                          const ModelRowKeys& keys, lm::ResidentModels* models) {
  input::RowFile rows = input::open_rows(world, keys.options);
  lm::LmConfig model = lm::read_shared_lm_config(world, keys.folder);
  FolderText text = read_folder_text(world, keys.folder, keys.chat, models);
  std::optional<ModelRows> read;
  cluster::run_together(world, [&] {
    read.emplace(put_together(config, keys, std::move(model), std::move(rows), std::move(text)));
  });
  return std::move(*read);
}

ModelRows read_model_rows(const Config& config, const ModelRowKeys& keys) {
  lm::LmConfig model = lm::read_lm_config(keys.folder);
  input::RowFile rows = input::open_rows(keys.options);
  FolderText text = read_folder_text(keys.folder, keys.chat);
  return put_together(config, keys, std::move(model), std::move(rows), std::move(text));
}

void log_head_note(const run::RunContext& run, const ModelRows& inputs) {
  const std::string note = lm::head_note(inputs.folder, inputs.model);
  if (!note.empty()) run.log.event({"note", {{"text", note}}});
}

}  // namespace mgpu::rows
