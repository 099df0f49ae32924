#include <algorithm>
#include <span>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/random_streams.hpp>
#include <mgpu/lm/training/on_policy_texts.hpp>

namespace mgpu::lm {
namespace {

constexpr Purpose kOnPolicyChoice{8};  // selects the examples whose completions are sampled

}  // namespace

OnPolicyTexts::OnPolicyTexts(OnPolicyConfig config, const LmWindows& windows)
    : config_(std::move(config)), windows_(&windows) {
  if (!(config_.share > 0.0 && config_.share <= 1.0))
    throw Error("OnPolicyTexts: a share out of (0, 1]");
}

/// Returns a number that identifies one use of an example in the whole training. An epoch uses each
/// example once, so the number combines the index `example` with the epoch of window number
/// `ordinal`.
std::uint64_t OnPolicyTexts::sample_of(std::uint64_t ordinal, std::size_t example) const {
  return windows_->epoch_of(ordinal) * windows_->examples().size() + example;
}

bool OnPolicyTexts::is_drawn(std::uint64_t sample) const {
  const RandomStream stream(config_.generation.sampling.seed, kOnPolicyChoice, 0, sample);
  const Philox4 bits = stream.block(0);
  return uniform53(bits[0], bits[1]) < config_.share;
}

void OnPolicyTexts::draw(const TrainableModel& model, std::uint64_t first, std::int64_t count) {
  texts_.clear();
  const LmExamples& examples = windows_->examples();
  std::vector<Prompt> prompts;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t ordinal = first + static_cast<std::uint64_t>(i);
    for (const std::size_t example : windows_->examples_of(windows_->window_at(ordinal))) {
      const std::uint64_t sample = sample_of(ordinal, example);
      if (!is_drawn(sample)) continue;
      prompts.push_back(
          {sample, std::span(examples.ids)
                       .subspan(static_cast<std::size_t>(examples.begin(example)),
                                static_cast<std::size_t>(examples.prompt_length(example)))});
    }
  }
  if (prompts.empty()) return;
  const LanguageModel decoder = model.decoder();
  Generator generator(decoder, config_.generation);
  const std::vector<PromptResult> results = generator.run(prompts);
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const std::span<const std::int64_t> prompt = prompts[p].ids;
    const std::vector<std::int64_t>& completion = results[p].completions.front().ids;
    Text& text = texts_[prompts[p].sample];
    text.prompt = std::ssize(prompt);
    text.ids.assign(prompt.begin(), prompt.end());
    const std::int64_t room = windows_->seq_len() - text.prompt;
    text.ids.insert(text.ids.end(), completion.begin(),
                    completion.begin() + std::min(std::ssize(completion), room));
  }
}

const OnPolicyTexts::Text* OnPolicyTexts::find(std::uint64_t ordinal, std::size_t example) const {
  const auto found = texts_.find(sample_of(ordinal, example));
  return found == texts_.end() ? nullptr : &found->second;
}

}  // namespace mgpu::lm
