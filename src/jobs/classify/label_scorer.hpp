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

/// The model's decision for a row.
struct GivenLabel {
  std::int32_t label = -1;           // index; -1: unknown
  double score = 0.0;                // log-probability of the label or the answer; nats
  double margin = 0.0;               // score minus that of the second best label
  double positive = 0.0;             // probability of the positive label among all labels
  double confidence = 0.0;           // probability of the chosen label
  std::vector<double> label_scores;  // score of each label; empty if answers are generated
  std::int32_t output_tokens = 0;    // number of generated tokens
  std::string output;                // the answer, or the label
  std::string rationale;
};

/// Returns the label with the highest score for one row.
///
/// Shapes: log_probs [labels], each with one value per token of the label
GivenLabel best_label(std::span<const std::vector<float>> log_probs, const ClassifyConfig& config);

/// Finds labels with one model. On the CPU the result of a row depends only on that row and its id.
class LabelScorer {
public:
  /// Model and maker must outlive this object. Errors: Failure E124 (exit 78) when the strategy is
  /// greedy and classify.on_unparsed is retry.
  LabelScorer(const lm::LanguageModel& model, const ClassifySampleMaker& maker,
              const ClassifyConfig& config, const PromptStrategy& strategy,
              std::int64_t batch_size);

  /// Finds the labels of rows. Row i has the global id `first` + i. Rows without tokens get no
  /// label.
  /// Errors: those of Generator::run(); Failure E537 (exit 65) for an answer without a label when
  ///         classify.on_unparsed is error.
  std::vector<GivenLabel> run(std::span<const ClassifySample> samples, std::int64_t first);

  std::int64_t batch_size() const { return generators_.front().batch_size(); }
  void set_batch_size(std::int64_t batch_size);

private:
  void score(std::span<const ClassifySample> samples, std::vector<GivenLabel>& given);
  std::vector<std::size_t> generate(std::span<const ClassifySample> samples, std::int64_t first,
                                    std::span<const std::size_t> places, std::size_t round,
                                    std::vector<GivenLabel>& given);
  GivenLabel read(const lm::Completion& completion) const;

  const ClassifySampleMaker& maker_;
  ClassifyConfig config_;
  AnswerParser parser_;
  std::vector<lm::Generator> generators_;  // one for each time that an answer may be sampled
};

}  // namespace mgpu::jobs
