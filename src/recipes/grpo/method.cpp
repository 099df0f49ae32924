#include "method.hpp"

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/model_plan.hpp>

#include "recipes/lm/examples.hpp"
#include "sampled_policy.hpp"

namespace mgpu::recipes {

input::RowOptions GrpoMethod::row_options(input::RowOptions options) const {
  options.one_of = {"prompt", "messages", "token_ids"};
  if (settings_.rewards.needs_answers())
    options.all_of = {"answer"};
  else
    options.may_have = {"answer"};
  return options;
}

void GrpoMethod::encode(const formats::JsonValue& row, RowUse /*use*/, ExampleEncoder& encoder,
                        lm::LmExamples& examples) const {
  encoder.add_prompt(row, settings_.sampling.max_new_tokens, examples);
}

std::unique_ptr<OpenMethod> GrpoMethod::open(const run::RunContext& run, LmData& data) const {
  return std::make_unique<SampledPolicy>(run, settings_, data, folder_);
}

std::vector<KeptTensor> GrpoMethod::kept_tensors() const {
  return RolloutState(settings_).tensors();
}

LossMeaning GrpoMethod::loss_meaning() const {
  return {.name = "policy gradient of rewards",
          .per = "batch",
          .is_cross_entropy = false,
          .held_out_is_cross_entropy = false};
}

MethodCosts GrpoMethod::costs() const {
  MethodCosts costs{.sampled = 1.0, .sampling_batch = settings_.sampling.batch_size};
  if (settings_.beta > 0.0)
    costs.resident_parameters = run::num_parameters(lm::read_lm_config(folder_));
  return costs;
}

std::string GrpoMethod::banner() const {
  std::string names;
  for (const std::string& name : settings_.rewards.names)
    names += (names.empty() ? "" : ", ") + name;
  return report::text_of("; %lld completions of each prompt, reward ",
                         static_cast<long long>(settings_.group_size)) +
         names;
}

}  // namespace mgpu::recipes
