#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <mgpu/cluster/group.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/input/row_file.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/weights/resident_models.hpp>
#include <mgpu/rows/kept_columns.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::rows {

/// The inputs of a job that runs a language model over rows: the rows, and the files of the model
/// folder except for the weights.
struct ModelRows {
  std::filesystem::path folder;  // model.path
  lm::LmConfig model;
  input::RowOptions row_options;
  std::optional<text::TextFiles> text;  // tokenizer files; nullopt: rows must be token ids
  input::RowFile rows;
  KeptColumns kept;
  std::uint32_t crc = 0;  // checksum of rows, weights, tokenizer and chat template; if sums depend
                          // on the number of ranks that share the model, also of that number
};

/// Opens the rows, and reads the files of the model except for the weights.
///
/// Ranks:  collective over `world`.
/// Errors: those of open_rows(), read_lm_config(), read_tokenizer_files() and KeptColumns; every
///         rank throws the same.
ModelRows read_model_rows(const cluster::Group& world, const Config& config,
                          const ModelRowKeys& keys, lm::ResidentModels* models = nullptr);

/// Opens the rows, and reads the files of the model except for the weights, on a single rank. For
/// --check and --plan.
/// Errors: those of open_rows(), read_lm_config(), read_tokenizer_files() and KeptColumns.
ModelRows read_model_rows(const Config& config, const ModelRowKeys& keys);

/// Writes lm::head_note() of the model, if it has one, to the log of the run.
void log_head_note(const run::RunContext& run, const ModelRows& inputs);

}  // namespace mgpu::rows
