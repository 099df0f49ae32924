#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <mgpu/input/row_options.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/recipes/loop_settings.hpp>
#include <mgpu/rows/prompt_template.hpp>
#include <mgpu/rows/tokenizer_files.hpp>

#include "method.hpp"

namespace mgpu::recipes {

/// Adds the keys of job train that only language models read: model.init, data.eval_path,
/// train.seq_len and others.
void add_lm_train_keys(KeyTable& table);

/// Returns whether job train trains a language model. It does if model.path or model.init names a
/// folder.
bool trains_language_model(const Config& config);

/// Returns the folder of the trained model, from model.path or model.init. The folder of model.init
/// needs no weights.
std::filesystem::path read_trained_folder(const Config& config);

/// Returns data.eval_path; empty if it is null.
std::filesystem::path read_eval_path(const Config& config);

/// Returns train.seq_len, the number of tokens of a window (see lm::LmWindows).
std::int64_t read_seq_len(const Config& config);

/// Refuses a train.seq_len above the number of learned position embeddings of `model`, which the
/// message calls `what`.
/// Errors: Failure E107 (exit 78)
void require_positions(const Config& config, const lm::LmConfig& model, const std::string& what);

/// The settings of job train with a language model, read from the keys.
struct LmTrainSettings {
  LoopSettings loop;
  std::filesystem::path folder;  // folder of the model; it needs no weights if is_fresh
  bool is_fresh = false;         // true: training starts with random weights
  lm::FolderWeights weights() const {
    return is_fresh ? lm::FolderWeights::ignored : lm::FolderWeights::used;
  }
  /// Options to read the rows of data.path, or of the chosen split of a data set (by default
  /// `train`). Unset: LmMethod::read() returns the examples.
  std::optional<input::RowOptions> rows;
  /// Options to read the held-out rows. The first of these that exists is used:
  ///
  /// - the rows of data.eval_path,
  /// - the validation split of the built-in data set, unless training uses this split,
  /// - the same rows as `rows`, if LmMethod::held_out_share() is above 0.
  ///
  /// Unset: the loss on held-out rows is not measured, because no such rows exist, or because
  /// LmMethod::has_prompts_only() is true.
  std::optional<input::RowOptions> eval_rows;
  /// The template of data.template and data.labels, which makes a prompt and a completion from a
  /// row with a text and a label. Unset: the rows are not changed.
  std::optional<rows::RowTemplate> row_template{};
  bool needs_tokenizer = true;  // false: `folder` may lack a tokenizer
  rows::ChatChoice chat;        // data.chat_template
  std::int64_t seq_len = 0;     // train.seq_len, tokens of a window
  lm::TrainingOptions options;  // options of the model, without the head of LmMethod::head()
};

/// Reads the keys of job train with a language model.
/// Errors: one Failure (exit 78) about keys that contradict each other or have no effect.
LmTrainSettings read_lm_train_settings(const Config& config, const LmMethod& method = LmMethod());

}  // namespace mgpu::recipes
