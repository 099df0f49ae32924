#include <array>
#include <optional>
#include <span>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/agree.hpp>
#include <mgpu/lm/config/shared_config.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/model_rows.hpp>
#include <mgpu/rows/model_text.hpp>

namespace mgpu::rows {
namespace {

ModelRows put_together(const Config& config, const input::RowOptions& options, lm::LmConfig model,
                       input::RowFile rows, FolderText text) {
  const std::array crcs{rows.crc(), text.fingerprint, chat_crc(text.files)};
  KeptColumns kept(config, rows, options, options.keeps);
  return {.folder = config.text("model.path"),
          .model = std::move(model),
          .row_options = options,
          .text = std::move(text.files),
          .rows = std::move(rows),
          .kept = std::move(kept),
          .crc = crc_with_groups(config, crc32c(std::as_bytes(std::span(crcs))))};
}

}  // namespace

ModelRows read_model_rows(const cluster::Group& world, const Config& config,
                          const input::RowOptions& options) {
  input::RowFile rows = input::open_rows(world, options);
  const std::filesystem::path folder = config.text("model.path");
  lm::LmConfig model = lm::read_shared_lm_config(world, folder);
  FolderText text = read_folder_text(world, folder, read_chat_choice(config));
  std::optional<ModelRows> read;
  cluster::run_together(world, [&] {
    read.emplace(put_together(config, options, std::move(model), std::move(rows), std::move(text)));
  });
  return std::move(*read);
}

ModelRows read_model_rows(const Config& config, const input::RowOptions& options) {
  const std::filesystem::path folder = config.text("model.path");
  lm::LmConfig model = lm::read_lm_config(folder);
  input::RowFile rows = input::open_rows(options);
  FolderText text = read_folder_text(folder, read_chat_choice(config));
  return put_together(config, options, std::move(model), std::move(rows), std::move(text));
}

}  // namespace mgpu::rows
