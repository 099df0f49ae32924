#pragma once

#include <filesystem>

#include <mgpu/config/config.hpp>
#include <mgpu/input/row_options.hpp>
#include <mgpu/rows/model_text.hpp>

namespace mgpu::rows {

/// The key model.path: a Hugging Face folder.
void add_model_folder_keys(KeyTable& table);

/// Reads this key, which must be set.
std::filesystem::path read_model_path(const Config& config);

/// The folder of a language model, and the rows that it is applied to.
struct ModelRowKeys {
  std::filesystem::path folder;  // model.path
  input::RowOptions options;     // data.path and its format; the job adds columns
  ChatChoice chat;               // data.chat_template
};

/// Reads these keys. check_model_keys() must accept the configuration.
ModelRowKeys read_model_row_keys(const Config& config);

/// What every job that runs a language model over the rows of a file asks of its keys: a model, a
/// file (`data` is what to type for it), and groups that give the same numbers.
/// Errors: Failure (exit 78).
void check_model_keys(const Config& config, const char* data);

/// Whether data.path is there; `help` says what it should be. For one rank, before anything is
/// made. Errors: Failure E603 (exit 66) that points at the key.
void check_data_file(const Config& config, const char* help);

/// Ranks of a group that share each sum of the model, whose rounding depends on their number: 1
/// where they share layers.
int summing_ranks(const Config& config);

}  // namespace mgpu::rows
