#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/lm/weights/resident_models.hpp>

namespace mgpu::lm {

/// Returns whether the ForSequenceClassification class of the config's model family is supported.
/// For a supported family, tests compare the outputs with those of transformers.
bool has_sequence_classifier(const LmConfig& config);

/// Returns the model families for which has_sequence_classifier() is true, as a text for messages
/// such as "`gpt2`, `llama`".
std::string families_of_sequence_classifiers();

/// Facts about a folder with a ForSequenceClassification model. read_scorer_facts() finds them
/// without reading the values of weights. The folder may have no weight files.
struct ScorerFacts {
  LmConfig config;                       // tied_head is true, because no vocabulary head is stored
  std::optional<std::int64_t> outputs;   // rows of score.weight; nullopt: no such matrix
  std::optional<std::int64_t> pad_id{};  // pad_token_id of config.json; nullopt: not set
};

/// Reads config.json, and the headers of the weight files if there are any.
/// Errors: those of read_lm_config() and WeightFiles.
ScorerFacts read_scorer_facts(const fs::path& folder);

/// A ForSequenceClassification model with one output, such as a reward model. It gives each
/// sequence of tokens a number: the output of the linear layer `score` at the last token that is
/// not the padding token of config.json. If all tokens are padding, the number is the output at the
/// first token.
///
/// On the CPU the bits of a number depend on its sequence only.
class SequenceScorer {
public:
  /// Opens a folder. With `resident`, the ranks of a node share one copy of the weights.
  ///
  /// Ranks:  local
  /// Memory: the weights on `device`; on the CPU a packed copy of all matrices.
  /// Errors: those of read_lm_config(), WeightFiles and load_weights(); Failure E705 if the folder
  ///         has no `score.weight` with one output.
  static SequenceScorer open(const fs::path& folder, Device device = {},
                             ResidentModels* resident = nullptr);

  const LmConfig& config() const { return model_.config(); }

  /// Returns the output of `score` for each sequence. A pass takes up to PassSizes::prefill_tokens
  /// tokens of the sequences, or one longer sequence.
  ///
  /// Ranks:  local
  /// Shapes: each sequence has at least one token; returns [sequences.size()]
  /// Errors: ShapeError when an id is not in the vocabulary, or a sequence is empty or longer than
  ///         the learned positions.
  std::vector<double> score(std::span<const std::vector<std::int64_t>> sequences) const;

private:
  SequenceScorer(LanguageModel model, at::Tensor head, std::optional<std::int64_t> pad_id);

  std::span<const std::int64_t> judged(const std::vector<std::int64_t>& ids) const;
  void score_pass(std::span<const SequenceSpan> spans, std::vector<double>& scores) const;

  LanguageModel model_;
  at::Tensor head_;  // [width of the model] float64 on the CPU
  std::optional<std::int64_t> pad_id_;
};

}  // namespace mgpu::lm
