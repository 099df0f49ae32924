#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/datasets/registry.hpp>
#include <mgpu/input/row_options.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/model_keys.hpp>

namespace mgpu::rows {

/// Adds the key model.path, whose value is the Hugging Face folder of a model, or the name of a
/// model in the local Hugging Face cache.
void add_model_folder_keys(KeyTable& table);

/// Returns the value of the key model.path, which must be set.
std::filesystem::path read_model_path(const Config& config);

/// The folder of a language model, and the rows that it is applied to.
struct ModelRowKeys {
  std::filesystem::path folder;  // model.path
  /// data.path and its format, or data.dataset. The job adds the columns that it needs.
  input::RowOptions options;
  ChatChoice chat;                                         // data.chat_template
  std::optional<datasets::DatasetRows> dataset{};          // rows of a data set; nullopt: data.path
  std::optional<std::vector<std::string>> keep_columns{};  // output.keep_columns; nullopt: auto
  run::ModelKeys model{};                                  // how ranks share the model
};

/// Reads the keys that the comments in ModelRowKeys name. Call it only after check_model_keys() has
/// accepted the configuration.
ModelRowKeys read_model_row_keys(const Config& config);

/// Returns the chunk size that run.chunk_size=auto stands for. It depends on the number of rows and
/// on `results_per_row`, the number of results of each row. Returns 1 if the rows cannot be
/// counted; the job reports that failure later.
/// Ranks:  local.
std::int64_t auto_chunk_size(const ModelRowKeys& keys, std::int64_t results_per_row = 1);

/// Checks the keys of any job that runs a language model over rows. The keys must name a model, and
/// either a data file (data.path) or a data set (data.dataset). With model.parallel=tensor, the
/// rounding of sums depends on the size of a group, so devices.groups must give all groups the same
/// size. With a data set, keys about the format of a file must keep their defaults. run.worker_id
/// must be below run.total_workers. `data` is the help text of the failure for a configuration
/// without a data file and without a data set.
/// Errors: Failure E114 (a key is missing) or E124 (a value that does not fit), exit 78; those of
///         check_dataset_keys().
void check_model_keys(const Config& config, const char* data);

/// Refuses a configuration that has data.path and also chooses a data set, by data.dataset or by a
/// key of the data set. Also refuses a data set that lacks the split in data.split. `otherwise` is
/// the split that data.split=auto stands for.
/// Errors: Failure E124 (exit 78); those of read_dataset().
void check_dataset_keys(const Config& config, datasets::Split otherwise);

/// Checks that the file data.path exists, before anything is written. Does nothing if the program
/// generates the rows (data.dataset). `help` tells users which file the job expects.
/// Ranks:  local; one rank calls this function.
/// Errors: Failure E603 (exit 66) that points at the key data.path.
void check_data_file(const Config& config, const input::RowOptions& rows, const char* help);

}  // namespace mgpu::rows
