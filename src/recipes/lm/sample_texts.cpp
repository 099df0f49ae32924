#include "sample_texts.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

#include <mgpu/lm/decode/generator.hpp>

namespace mgpu::recipes {
namespace {

constexpr std::size_t kTexts = 6;
constexpr std::int64_t kNewTokens = 40;

/// The token ids of an example in two parts: the prompt, which the model completes, and the rest.
struct Split {
  std::size_t example;
  std::span<const std::int64_t> prompt;
  std::span<const std::int64_t> rest;
};

Split split_of(const lm::LmExamples& examples, std::size_t example) {
  const auto ids = std::span(examples.ids)
                       .subspan(static_cast<std::size_t>(examples.begin(example)),
                                static_cast<std::size_t>(examples.length(example)));
  if (examples.predictions(example) == 0) return {example, ids, {}};
  const auto prompt = static_cast<std::size_t>(examples.prompt_length(example));
  const std::size_t end = prompt > 1 ? prompt : ids.size() / 2;
  const std::size_t rest = std::min(ids.size() - end, static_cast<std::size_t>(kNewTokens));
  return {example, ids.first(end), ids.subspan(end, rest)};
}

std::vector<Split> splits_of(const lm::LmExamples& examples) {
  std::vector<Split> splits;
  const std::size_t count = std::min(kTexts, examples.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Split split = split_of(examples, i * examples.size() / count);
    if (!split.prompt.empty()) splits.push_back(split);
  }
  return splits;
}

std::string decoded(const text::TextFolder& folder, std::span<const std::int64_t> ids) {
  const std::vector<text::TokenId> narrow(ids.begin(), ids.end());
  return folder.tokenizer.decode(narrow, /*skip_special_tokens=*/true);
}

/// Returns the completion in the data, or the right answer of an example that is a prompt alone.
std::string expected_text(const lm::LmExamples& examples, const Split& split,
                          const text::TextFolder& folder) {
  const auto answers = examples.texts.find("answer");
  if (!split.rest.empty() || answers == examples.texts.end()) return decoded(folder, split.rest);
  return answers->second[split.example];
}

double mean_of(const std::vector<float>& values) {
  if (values.empty()) return 0.0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

lm::GenerationConfig greedy(const text::TextFolder& folder) {
  lm::GenerationConfig config;
  config.max_new_tokens = kNewTokens;
  config.stop_ids.assign(folder.stop_ids.begin(), folder.stop_ids.end());
  if (folder.eos.id >= 0) config.stop_ids.push_back(folder.eos.id);
  return config;
}

bool is_too_large(const lm::TrainableModel& model) {
  const at::Tensor& weights = model.parameters().weights();
  return weights.is_cpu() && weights.numel() * weights.element_size() > kSampledBytes;
}

}  // namespace

std::vector<SampleText> sample_texts(const lm::TrainableModel& model,
                                     const lm::LmExamples& examples,
                                     const text::TextFolder& folder) {
  const std::vector<Split> splits = splits_of(examples);
  if (splits.empty() || is_too_large(model)) return {};
  std::vector<lm::Prompt> prompts;
  for (const Split& split : splits)
    prompts.push_back({prompts.size(), split.prompt});
  const lm::LanguageModel decoder = model.decoder();
  const std::vector<lm::PromptResult> results = lm::Generator(decoder, greedy(folder)).run(prompts);
  std::vector<SampleText> texts;
  for (std::size_t i = 0; i < splits.size(); ++i) {
    const lm::Completion& completion = results[i].completions.front();
    texts.push_back({decoded(folder, splits[i].prompt),
                     expected_text(examples, splits[i], folder),
                     decoded(folder, completion.ids),
                     mean_of(completion.log_probs),
                     {}});
  }
  return texts;
}

}  // namespace mgpu::recipes
