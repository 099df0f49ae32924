#include <array>
#include <cmath>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/lm/forward/step_scorer.hpp>
#include <mgpu/lm/training/classifier_folder.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "classifier_tensors.hpp"

namespace mgpu::lm {
namespace {

std::vector<double> doubles_of(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(at::kDouble).contiguous();
  const double* first = values.const_data_ptr<double>();
  return {first, first + values.numel()};
}

/// Returns the tokens up to the end of the last step. Later tokens change no score.
std::span<const std::int64_t> judged(const SteppedSequence& sequence) {
  return std::span(sequence.ids).first(static_cast<std::size_t>(sequence.ends.back()));
}

}  // namespace

StepScorer::StepScorer(const StepHead& head, LanguageModel model, const at::Tensor& weight,
                       const at::Tensor& bias)
    : head_(head), model_(std::move(model)), weight_(doubles_of(weight)), bias_(doubles_of(bias)) {}

StepScorer StepScorer::open(const fs::path& folder, Device device, ResidentModels* resident) {
  const at::NoGradGuard no_grad;
  const StepHead head = read_step_head(folder);
  const LmConfig config = read_classifier_config(folder);
  const auto specs =
      head_specs(classifier_head(config, Classified::tokens, head.outputs), config.hidden_size);
  ClassifierTensors read = read_classifier(folder, config, specs, device, resident);
  return {head, LanguageModel(config, std::move(read.decoder)), read.head.at(0), read.head.at(1)};
}

/// Returns the probability that a step is right, from the hidden state of its last token. The
/// function adds up the products in the order of the columns, so the bits do not depend on the
/// pass.
double StepScorer::probability(const float* state) const {
  std::array<double, 2> outputs{};
  const std::size_t width = weight_.size() / bias_.size();
  for (std::size_t o = 0; o < bias_.size(); ++o) {
    outputs.at(o) = bias_[o];
    for (std::size_t d = 0; d < width; ++d)
      outputs.at(o) += weight_[o * width + d] * static_cast<double>(state[d]);
  }
  const double z = head_.logit(outputs.data());
  return z >= 0.0 ? 1.0 / (1.0 + std::exp(-z)) : std::exp(z) / (1.0 + std::exp(z));
}

void StepScorer::score_pass(std::span<const SteppedSequence> sequences,
                            std::vector<std::vector<double>>& scores) const {
  std::vector<SequenceSpan> spans;
  for (const SteppedSequence& sequence : sequences) {
    const std::int64_t after_first = sequence.ends.back() - sequence.ends.front() + 1;
    spans.push_back({.ids = judged(sequence), .num_outputs = after_first});
  }
  // For each sequence, `states` has one row per token, from the last token of the first step to the
  // last token of the last step.
  const at::Tensor states = tensor::read_back(model_.hidden(spans)).contiguous();
  const float* row = states.const_data_ptr<float>();
  const std::int64_t width = states.size(1);
  for (const SteppedSequence& sequence : sequences) {
    std::vector<double>& of_steps = scores.emplace_back();
    for (const std::int64_t end : sequence.ends)
      of_steps.push_back(probability(row + (end - sequence.ends.front()) * width));
    row += (sequence.ends.back() - sequence.ends.front() + 1) * width;
  }
  mark_progress();
}

std::vector<std::vector<double>> StepScorer::score(
    std::span<const SteppedSequence> sequences) const {
  const at::NoGradGuard no_grad;
  std::vector<std::vector<double>> scores;
  std::size_t first = 0;
  std::int64_t tokens = 0;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    if (sequences[s].ends.empty()) throw ShapeError("StepScorer: a sequence has no steps");
    const std::int64_t length = sequences[s].ends.back();
    if (s > first && tokens + length > model_.sizes().prefill_tokens) {
      score_pass(sequences.subspan(first, s - first), scores);
      first = s;
      tokens = 0;
    }
    tokens += length;
  }
  if (first < sequences.size()) score_pass(sequences.subspan(first), scores);
  return scores;
}

}  // namespace mgpu::lm
