#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  std::optional<text::TextFiles> text;  // nullopt: no tokenizer; rows must be token ids
  input::RowFile rows;
  KeptColumns kept;
  std::uint32_t fingerprint = 0;  // result of model_fingerprint() of `folder`
  // Checksum of the rows, `fingerprint` and the chat template. With tensor parallelism, it also
  // covers the number of ranks that share the model, on which the rounding of products depends.
  std::uint32_t crc = 0;
  std::map<std::string, std::string> inputs{};  // by key; for record_inputs()
};

/// Opens the rows, and reads the files of the model folder. For the checksum, it reads the first
/// and the last 4 KiB of each tensor of weights. If config.json ties the vocabulary head to the
/// embedding, but the files store both matrices, it also compares the matrices, to set
/// LmConfig::stored_head. For `models` see folder_facts().
///
/// Ranks:  collective over `world`.
/// Errors: those of open_rows(), read_lm_config(), read_folder_tokenizer() and KeptColumns;
///         all ranks throw the same error.
ModelRows read_model_rows(const cluster::Group& world, const Config& config,
                          const ModelRowKeys& keys, lm::ResidentModels* models = nullptr);

/// Opens the rows, and reads the files of the model folder, on a single rank. Used by --check and
/// --plan. If the folder has weights, reads the same parts of them as the overload above.
/// Errors: those of open_rows(), read_lm_config(), read_folder_tokenizer() and KeptColumns.
ModelRows read_model_rows(const Config& config, const ModelRowKeys& keys);

/// Formats a checksum as in run.json: "1a2b3c4d".
std::string checksum_text(std::uint32_t crc);

/// Writes ModelRows::inputs to run.json: the checksum of each input, under the name of its key.
/// With tensor parallelism, also writes the number of ranks that share the model. Call this
/// function before any chunk is made, so that --merge can name an input that differs.
///
/// Ranks:  collective over the world.
/// Errors: those of RunDirectory::record_inputs().
void record_inputs(const run::RunContext& run, const ModelRows& inputs);

/// Throws if an input that the run in `directory` recorded is missing in `inputs`, or has another
/// value in `inputs`. Used by --merge. Accepts runs of earlier versions, which did not record their
/// inputs.
///
/// Ranks:  collective over `world`.
/// Errors: the same Failure on all ranks: E610 (exit 65) when the content of an input has changed;
///         those of store::inputs_of_run().
void require_recorded_inputs(const cluster::Group& world, const store::RunDirectory& directory,
                             const ModelRows& inputs);

/// Returns the checksums of the rows and of the model, for JobOutcome::inputs.
std::vector<std::pair<std::string, std::string>> checksums_of(const ModelRows& inputs);

/// Returns the entry of JobOutcome::inputs that shows the checksum of a model folder. `fingerprint`
/// is the result of model_fingerprint().
std::pair<std::string, std::string> model_checksum(std::uint32_t fingerprint);

/// Writes lm::head_note() of the model, if it has one, to the log of the run.
void log_head_note(const run::RunContext& run, const ModelRows& inputs);

}  // namespace mgpu::rows
