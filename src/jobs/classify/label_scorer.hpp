#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <mgpu/lm/decode/generator.hpp>

#include "answer_parser.hpp"
#include "keys.hpp"
#include "samples.hpp"

namespace mgpu::jobs {

/// The label that the model gives to a row, and its scores. Log-probabilities are in nats.
struct GivenLabel {
  std::int32_t label = -1;  // index in classify.labels; -1: unknown
  /// Log-probability of the label, or its mean per token with classify.normalize=mean. If the
  /// answer was generated, it is the log-probability of the answer.
  double score = 0.0;
  double margin = 0.0;  // score minus the score of the second best label; 0 for a generated answer
  /// Probability of the positive label among all labels. For a generated answer it is 1 if the
  /// answer names this label, 0 if it names another label, and 0.5 if the label is unknown.
  double positive = 0.0;
  /// Probability of `label` among all labels; 0 for a generated answer.
  double confidence = 0.0;
  std::vector<double> label_scores;  // score of each label; empty for a generated answer
  std::int32_t output_tokens = 0;    // number of generated tokens
  std::string output;                // the generated answer; if labels are scored, the label
  std::string rationale;
};

/// Returns the label with the highest score for one row. The score of a label is the sum of the
/// log-probabilities of its tokens, or their mean with classify.normalize=mean.
///
/// Shapes: log_probs [labels], each with one value per token of the label
GivenLabel best_label(std::span<const std::vector<float>> log_probs, const ClassifyConfig& config);

/// Gives labels to rows with one model. On the CPU, the label of a row does not depend on the other
/// rows of the same call to run().
class LabelScorer {
public:
  /// Keeps references to `model` and `encoder`, which must outlive this object.
  /// Errors: Failure E124 (exit 78) when classify.on_unparsed=retry would repeat the same answer,
  ///         because answers are generated with temperature 0.
  LabelScorer(const lm::LanguageModel& model, const ClassifyEncoder& encoder,
              const ClassifyConfig& config, const PromptStrategy& strategy,
              std::int64_t batch_size);

  /// Returns the label that the model gives to each row. Row i has the global id `first` + i. Rows
  /// without tokens get no label.
  /// Errors: those of Generator::run(); Failure E537 (exit 65) for an answer without a label when
  ///         classify.on_unparsed is error.
  std::vector<GivenLabel> run(std::span<const ClassifySample> samples, std::int64_t first);

  std::int64_t batch_size() const { return generators_.front().batch_size(); }
  void set_batch_size(std::int64_t batch_size);

  /// Sets the callback that receives how many rows the current call to run() has processed. Only
  /// the first answer of a row counts, so a row whose answer is sampled again counts once.
  void set_progress(const lm::SeeProgress& see) { generators_.front().set_progress(see); }

private:
  void score(std::span<const ClassifySample> samples, std::vector<GivenLabel>& given);
  std::vector<std::size_t> generate(std::span<const ClassifySample> samples, std::int64_t first,
                                    std::span<const std::size_t> places, std::size_t round,
                                    std::vector<GivenLabel>& given);
  GivenLabel read(const lm::Completion& completion) const;

  const ClassifyEncoder& encoder_;
  ClassifyConfig config_;
  AnswerParser parser_;
  /// One generator for each attempt to draw an answer of a row: three with
  /// classify.on_unparsed=retry, otherwise one.
  std::vector<lm::Generator> generators_;
};

}  // namespace mgpu::jobs
