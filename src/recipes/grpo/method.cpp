#include "method.hpp"

#include <array>
#include <span>

#include <mgpu/base/file_io.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/reward_model.hpp>
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
  if (row.find("messages") != nullptr && !can_judge_messages())
    throw formats::JsonError(
        "it has messages, but the folder of reward.model has no chat template");
  encoder.add_prompt(row, settings_.sampling.max_new_tokens, examples);
}

bool GrpoMethod::can_judge_messages() const {
  if (!can_judge_messages_) can_judge_messages_ = rows::can_judge_messages(settings_.rewards);
  return *can_judge_messages_;
}

void GrpoMethod::check_files(const Config& config, const std::filesystem::path& /*folder*/) const {
  rewards::check_rewards(settings_.rewards);
  rows::check_reward_config(config, settings_.rewards);
}

void GrpoMethod::check_weights(const Config& config) const {
  rows::check_reward_weights(config, settings_.rewards);
}

MethodData GrpoMethod::read(std::int64_t /*seq_len*/, std::int64_t /*vocab*/) const {
  MethodData data;
  if (start_.has_weights) data.crc = rows::model_fingerprint(start_.folder);
  if (!settings_.rewards.has_model()) return data;
  const std::array crcs{data.crc, rows::reward_fingerprint(settings_.rewards)};
  data.crc = crc32c(std::as_bytes(std::span(crcs)));
  return data;
}

std::optional<TrainTask::DataPlace> GrpoMethod::data_place() const {
  return TrainTask::DataPlace{"the start model or the data", "weights or prompts",
                              start_.folder.string()};
}

std::unique_ptr<OpenMethod> GrpoMethod::open(const run::RunContext& run, LmData& data) const {
  return std::make_unique<SampledPolicy>(run, settings_, data, start_.folder);
}

std::vector<KeptTensor> GrpoMethod::kept_tensors() const {
  return RolloutState(settings_).tensors();
}

LossMeaning GrpoMethod::loss_meaning() const {
  return {.name = "policy gradient of rewards",
          .per = "batch",
          .unit = "",
          .is_cross_entropy = false,
          .held_out_is_cross_entropy = false};
}

MethodCosts GrpoMethod::costs() const {
  MethodCosts costs{.sampled = 1.0,
                    .sampling_batch = settings_.sampling.batch_size,
                    .own_tokens = settings_.sampling.max_new_tokens};
  const auto weights = start_.has_weights ? lm::FolderWeights::used : lm::FolderWeights::ignored;
  if (settings_.beta > 0.0)
    costs.resident_parameters = run::num_parameters(lm::read_lm_config(start_.folder, weights));
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
