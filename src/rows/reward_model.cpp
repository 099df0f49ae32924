#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/weight_files.hpp>
#include <mgpu/lm/forward/sequence_scorer.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/reward_model.hpp>
#include <mgpu/rows/row_encoder.hpp>
#include <mgpu/rows/row_problems.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/model_plan.hpp>

namespace mgpu::rows {
namespace {

[[noreturn]] void refuse(const rewards::RewardSettings& settings, std::string sentence,
                         std::string help) {
  throw Failure({"E553",
                 ExitCode::data,
                 std::move(sentence),
                 {"  --> " + settings.model.string()},
                 std::move(help)});
}

/// The reward `model`, which is the output of a ForSequenceClassification model.
class ModelReward final : public rewards::Reward {
public:
  ModelReward(const rewards::RewardSettings& settings, Device device, lm::ResidentModels* models)
      : scorer_(lm::SequenceScorer::open(settings.model, device, models)),
        encoder_(parse_tokenizer_files(text::read_text_files(settings.model), settings.model,
                                       scorer_.config().vocab),
                 {.vocab = scorer_.config().vocab, .folder = settings.model}) {}

  std::vector<double> score(std::span<const rewards::RewardRow> rows) override {
    std::vector<double> scores(rows.size(), std::numeric_limits<double>::quiet_NaN());
    std::vector<std::vector<std::int64_t>> sequences;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::vector<std::int64_t> ids = ids_of(rows[i]);
      if (ids.empty() || is_too_long(ids)) continue;
      sequences.push_back(std::move(ids));
      places.push_back(i);
    }
    const std::vector<double> found = scorer_.score(sequences);
    for (std::size_t i = 0; i < places.size(); ++i)
      scores[places[i]] = found[i];
    return scores;
  }

private:
  /// Returns the tokens of prompt and completion. Returns an empty list if the tokenizer or the
  /// chat template refuses the row.
  std::vector<std::int64_t> ids_of(const rewards::RewardRow& row) {
    std::vector<std::int64_t> ids;
    problem_of([&] {
      if (row.messages.empty()) {
        ids = encoder_.ended_ids(std::string(row.prompt) + std::string(row.completion));
        return;
      }
      std::vector<text::ChatMessage> messages(row.messages.begin(), row.messages.end());
      messages.push_back({"assistant", std::string(row.completion)});
      ids = encoder_.rendered_ids(messages);
    });
    return ids;
  }

  bool is_too_long(const std::vector<std::int64_t>& ids) const {
    const lm::LmConfig& config = scorer_.config();
    return config.rope.kind == lm::RopeKind::none && std::ssize(ids) > config.max_positions;
  }

  lm::SequenceScorer scorer_;
  RowEncoder encoder_;
};

}  // namespace

void check_reward_config(const Config& config, const rewards::RewardSettings& settings) {
  if (!settings.has_model()) return;
  check_model_config(config, settings.model, settings.model_key);
  const lm::LmConfig model = lm::read_lm_config(settings.model, lm::FolderWeights::ignored);
  if (!lm::has_sequence_classifier(model))
    refuse(settings, "a reward model of family `" + model.family + "` is not supported",
           settings.model_key + "=FOLDER of one of " + lm::families_of_sequence_classifiers());
  if (!text::has_tokenizer(settings.model))
    refuse(settings, "the reward model's folder has no tokenizer",
           conversion_help(settings.model).empty() ? "copy tokenizer.json of its base model there"
                                                   : conversion_help(settings.model));
  parse_tokenizer_files(text::read_text_files(settings.model), settings.model, model.vocab);
}

void check_reward_weights(const Config& config, const rewards::RewardSettings& settings) {
  if (!settings.has_model()) return;
  check_model_folder(config, settings.model, settings.model_key);
  const std::optional<std::int64_t> outputs = lm::read_scorer_facts(settings.model).outputs;
  if (!outputs)
    refuse(settings, "the folder is no reward model: it has no score.weight",
           settings.model_key + "=FOLDER of a ForSequenceClassification; --explain E553");
  if (*outputs != 1)
    refuse(settings,
           "the model has " + std::to_string(*outputs) + " outputs, and a reward is one number",
           settings.model_key + "=FOLDER of a model with num_labels 1");
}

bool can_judge_messages(const rewards::RewardSettings& settings) {
  return !settings.has_model() || text::read_chat_templates(settings.model).contains("default");
}

std::uint32_t reward_fingerprint(const rewards::RewardSettings& settings,
                                 lm::ResidentModels* models) {
  if (!settings.has_model() || !formats::has_weight_files(settings.model)) return 0;
  return model_fingerprint(settings.model, models);
}

std::uint64_t reward_model_bytes(const rewards::RewardSettings& settings, DeviceKind device) {
  if (!settings.has_model()) return 0;
  const std::int64_t parameters = run::num_parameters(lm::read_scorer_facts(settings.model).config);
  return static_cast<std::uint64_t>(parameters) * (device == DeviceKind::cuda ? 4 : 8);
}

rewards::WeightedRewards open_rewards(const rewards::RewardSettings& settings, Device device,
                                      lm::ResidentModels* models) {
  std::unique_ptr<rewards::Reward> of_model;
  if (settings.has_model()) of_model = std::make_unique<ModelReward>(settings, device, models);
  return rewards::WeightedRewards(settings, std::move(of_model));
}

}  // namespace mgpu::rows
