#include <algorithm>
#include <array>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/lm/forward/sequence_scorer.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "classifier_tensors.hpp"

namespace mgpu::lm {
namespace {

constexpr const char* kScore = "score.weight";
constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{16} << 20;

// Families for which tests compare ForSequenceClassification with that of transformers.
constexpr std::array<std::string_view, 5> kSequenceFamilies = {"gpt2", "llama", "mistral", "qwen2",
                                                               "qwen3"};

std::optional<std::int64_t> read_pad_id(const fs::path& folder) {
  const formats::JsonValue config =
      formats::read_json_object(folder / "config.json", kMaxConfigBytes);
  const formats::JsonValue* id = config.find("pad_token_id");
  if (id == nullptr || id->integer() == nullptr) return std::nullopt;
  return *id->integer();
}

}  // namespace

bool has_sequence_classifier(const LmConfig& config) {
  return std::ranges::find(kSequenceFamilies, config.family) != kSequenceFamilies.end();
}

std::string families_of_sequence_classifiers() {
  std::string names;
  for (const std::string_view family : kSequenceFamilies)
    names.append(names.empty() ? "`" : ", `").append(family).append("`");
  return names;
}

ScorerFacts read_scorer_facts(const fs::path& folder) {
  ScorerFacts facts{read_classifier_config(folder), std::nullopt, read_pad_id(folder)};
  if (!formats::has_weight_files(folder)) return facts;
  const formats::WeightFiles files(folder);
  const formats::StoredTensor* score = files.find(kScore);
  if (score != nullptr && !score->shape.empty()) facts.outputs = score->shape.front();
  return facts;
}

SequenceScorer::SequenceScorer(LanguageModel model, at::Tensor head,
                               std::optional<std::int64_t> pad_id)
    : model_(std::move(model)), head_(std::move(head)), pad_id_(pad_id) {}

SequenceScorer SequenceScorer::open(const fs::path& folder, Device device,
                                    ResidentModels* resident) {
  const at::NoGradGuard no_grad;
  const LmConfig config = read_classifier_config(folder);
  const std::array specs{tensor::ParameterSpec{.name = kScore, .shape = {1, config.hidden_size}}};
  ClassifierTensors read = read_classifier(folder, config, specs, device, resident);
  return {LanguageModel(config, std::move(read.decoder)),
          read.head.front().reshape({-1}).to(at::kDouble), read_pad_id(folder)};
}

/// Returns the tokens without the padding at the end, but at least one token. The score is the
/// output at the last of these tokens. The padding cannot change this output, because each token
/// attends only to itself and to earlier tokens.
std::span<const std::int64_t> SequenceScorer::judged(const std::vector<std::int64_t>& ids) const {
  if (ids.empty()) throw ShapeError("SequenceScorer: a sequence has no tokens");
  std::span<const std::int64_t> kept(ids);
  while (pad_id_ && kept.size() > 1 && kept.back() == *pad_id_)
    kept = kept.first(kept.size() - 1);
  return kept;
}

void SequenceScorer::score_pass(std::span<const SequenceSpan> spans,
                                std::vector<double>& scores) const {
  // `states` has one row per span, because every span has num_outputs = 1.
  const at::Tensor states = tensor::read_back(model_.hidden(spans)).to(at::kDouble);
  const std::int64_t width = head_.numel();
  const double* weight = head_.const_data_ptr<double>();
  const double* state = states.const_data_ptr<double>();
  for (std::int64_t s = 0; s < states.size(0); ++s, state += width) {
    double sum = 0.0;  // terms are added in column order, so the bits do not depend on the pass
    for (std::int64_t d = 0; d < width; ++d)
      sum += weight[d] * state[d];
    scores.push_back(sum);
  }
  mark_progress();
}

std::vector<double> SequenceScorer::score(
    std::span<const std::vector<std::int64_t>> sequences) const {
  const at::NoGradGuard no_grad;
  std::vector<double> scores;
  std::vector<SequenceSpan> spans;
  std::int64_t tokens = 0;
  for (const std::vector<std::int64_t>& ids : sequences) {
    const std::span<const std::int64_t> kept = judged(ids);
    if (!spans.empty() && tokens + std::ssize(kept) > model_.sizes().prefill_tokens) {
      score_pass(spans, scores);
      spans.clear();
      tokens = 0;
    }
    spans.push_back({.ids = kept, .num_outputs = 1});
    tokens += std::ssize(kept);
  }
  if (!spans.empty()) score_pass(spans, scores);
  return scores;
}

}  // namespace mgpu::lm
