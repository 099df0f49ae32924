#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/rows/length_keys.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/run/chunk_keys.hpp>

namespace mgpu::jobs {

/// The treatment of a row whose generated answer names no label, or several.
enum class Unparsed {
  count,  // the row gets no label, and counts as wrong
  /// The answer is sampled again, up to twice. If no answer names exactly one label, the row is
  /// treated as with `count`.
  retry,
  error,  // the run fails with E537
};

/// Adds the keys classify.*.
void add_classify_keys(KeyTable& table);

/// The settings of job classify.
struct ClassifyConfig {
  run::JobKeys run;
  rows::ModelRowKeys rows;
  rows::LengthKeys length;
  std::vector<std::string> labels;  // names of classify.labels
  /// For each item of `labels`, the value of the label column that stands for it. The values equal
  /// `labels` if classify.labels is a list, not a mapping.
  std::vector<std::string> label_values;
  /// Index in `labels` of classify.positive. If that key is null, the index of the last label.
  std::size_t positive = 0;
  bool has_positive = false;  // whether classify.positive is set
  /// The value of classify.prompt is the name of a file (prompt_file) or the text of a template
  /// (prompt_text). If both are empty, the built-in strategy is used.
  std::filesystem::path prompt_file;
  std::string prompt_text;
  std::string strategy;    // classify.strategy; "": the only strategy of the file
  bool generates = false;  // true: classify.score is generate, not label_logprob
  /// True with classify.normalize=mean: scores are log-probabilities per token.
  bool is_mean = false;
  Unparsed on_unparsed = Unparsed::count;
  std::int64_t batch_size = 0;  // texts in one batch of a model; 0: auto
};

/// Checks the rules between keys of job classify. It reads no files except those of the data set
/// (data.dataset).
/// Errors: Failure (exit 78) if a rule is broken.
void check_classify_keys(const Config& config);

ClassifyConfig read_classify_config(const Config& config);

/// Returns a description of the settings for the banner: "labels normal and hate, by
/// log-probability".
std::string classify_text(const ClassifyConfig& config);

}  // namespace mgpu::jobs
