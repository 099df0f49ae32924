// Implements the functions of RolloutItems that sample and judge completions.
#include <algorithm>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/failpoint.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/text/chat_template.hpp>

#include "rollout_items.hpp"

namespace mgpu::recipes {
namespace {

/// If failpoint grpo.sampler is set, this object makes one weight 1e-3 larger during its lifetime.
/// Tests use it to check that training notices a sampler with different weights.
class ShiftedWeight {
public:
  explicit ShiftedWeight(const tensor::ParameterArena& parameters) {
    if (failpoint("grpo.sampler").error == 0) return;
    const at::NoGradGuard no_grad;
    std::size_t norm = 0;
    while (parameters.spec(norm).shape.size() != 1)
      ++norm;
    weight_ = parameters.parameter(norm).detach().narrow(0, 0, 1);
    before_ = weight_.clone();
    weight_.add_(1e-3);
  }
  ShiftedWeight(const ShiftedWeight&) = delete;
  ShiftedWeight& operator=(const ShiftedWeight&) = delete;
  ~ShiftedWeight() {
    const at::NoGradGuard no_grad;
    if (weight_.defined()) weight_.copy_(before_);
  }

private:
  at::Tensor weight_;
  at::Tensor before_;
};

/// Parses the messages of a prompt, which ExampleEncoder::add_prompt() stored as the JSON `text`.
std::vector<text::ChatMessage> messages_of(const std::string& text) {
  if (text.empty()) return {};
  return rows::messages_of(formats::parse_json_object(text).at("messages"), "messages");
}

Rollout rollout_of(std::span<const std::int64_t> prompt, const lm::Completion& completion) {
  Rollout row;
  row.prompt = std::ssize(prompt);
  row.ids.assign(prompt.begin(), prompt.end());
  row.ids.insert(row.ids.end(), completion.ids.begin(), completion.ids.end());
  row.sampled.assign(completion.log_probs.begin(), completion.log_probs.end());
  row.is_truncated = completion.reason == lm::FinishReason::length ||
                     completion.reason == lm::FinishReason::context;
  return row;
}

}  // namespace

/// Returns the prompts of the completions with the batch indices `made_`, each with the number of
/// completions that this rank samples. Other ranks may sample the remaining completions of the
/// first and the last prompt.
std::vector<lm::Prompt> RolloutItems::prompts_to_sample() const {
  const auto members = static_cast<std::size_t>(settings_.group_size);
  std::vector<lm::Prompt> prompts;
  std::size_t group = draws_.numbers().size();  // group of the last prompt in `prompts`
  for (const std::size_t place : made_) {
    if (group_of(place) == group) {
      ++prompts.back().num_samples;
      continue;
    }
    group = group_of(place);
    prompts.push_back(
        {draws_.numbers()[group] * members + place % members, prompt_of(example_of(place))});
  }
  return prompts;
}

/// Samples the completions with the batch indices `made_`.
void RolloutItems::sample() {
  const std::vector<lm::Prompt> prompts = prompts_to_sample();
  if (prompts.empty()) return;
  const ShiftedWeight shifted(sampled_model_->parameters());
  const lm::LanguageModel decoder = sampled_model_->decoder();
  lm::Generator generator(decoder, settings_.sampling);
  const std::vector<lm::PromptResult> results = generator.run(prompts);
  auto place = made_.begin();
  for (std::size_t p = 0; p < prompts.size(); ++p)
    for (const lm::Completion& completion : results[p].completions)
      rows_[*place++] = rollout_of(prompts[p].ids, completion);
}

/// Returns the penalty that is added to the reward of a long completion, from -1 to 0.
/// Source: Yu et al., arXiv 2503.14476, equation 13
double RolloutItems::penalty_of(const Rollout& row) const {
  if (settings_.overlong_tokens == 0) return 0.0;
  const std::int64_t length = std::ssize(row.ids) - row.prompt;
  const std::int64_t beyond =
      length - (settings_.sampling.max_new_tokens - settings_.overlong_tokens);
  return -std::clamp(static_cast<double>(beyond) / static_cast<double>(settings_.overlong_tokens),
                     0.0, 1.0);
}

/// Computes the rewards of the completions with the batch indices `made_`.
void RolloutItems::judge() {
  if (made_.empty()) return;
  const auto judging = tools_.clock.enter("rewards");
  std::vector<std::string> outputs;
  for (const std::size_t place : made_)
    outputs.push_back(tools_.decode(
        std::span(rows_[place].ids).subspan(static_cast<std::size_t>(rows_[place].prompt))));
  std::vector<std::vector<text::ChatMessage>> messages(made_.size());
  std::vector<rewards::RewardRow> judged;
  for (std::size_t i = 0; i < made_.size(); ++i) {
    const std::size_t example = example_of(made_[i]);
    messages[i] = messages_of(tools_.prompts.texts.at(kMessagesText)[example]);
    judged.push_back({tools_.prompts.texts.at(kPromptText)[example], outputs[i],
                      tools_.prompts.texts.at(kAnswerText)[example], messages[i]});
  }
  const rewards::Scores scores = tools_.rewards.score(judged);
  for (std::size_t i = 0; i < made_.size(); ++i)
    rows_[made_[i]].reward = scores.total[i] + penalty_of(rows_[made_[i]]);
}

}  // namespace mgpu::recipes
