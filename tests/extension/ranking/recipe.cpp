// Defines a recipe of job train: a reward model learns which of two completions is better. Its loss
// is on pairs, and its model has a head in place of the vocabulary head.
#include "recipes/lm/recipe.hpp"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <mgpu/lm/training/classifier_folder.hpp>
#include <mgpu/lm/training/sequence_loss.hpp>

#include "recipes/lm/examples.hpp"

namespace mgpu::recipes {
namespace {

constexpr const char* kMargin = "ranking.margin";
constexpr std::int64_t kMembers = 2;  // of a pair: the chosen and the rejected completion

/// Bradley-Terry loss with a margin: -log sigmoid(chosen - rejected - margin).
class RankingLoss final : public lm::SequenceLoss {
public:
  explicit RankingLoss(double margin) : margin_(margin) {}

  lm::ValueRequest request() const override {
    return {.log_probs = false, .head_rows = lm::HeadRows::last};
  }

  std::vector<double> facts(const lm::MeasuredSequence& sequence) const override {
    return {sequence.head[0]};
  }

  lm::SequenceTerm weigh(const lm::MeasuredSequence& /*sequence*/,
                         const lm::SequencePlace& place) const override {
    const auto pair = place.group();
    const double difference = pair[0].values[0] - pair[1].values[0];
    const double slope = -1.0 / (1.0 + std::exp(difference - margin_));
    if (place.member() == 1) return {.head = {-slope}};
    return {.loss = std::log1p(std::exp(margin_ - difference)),
            .correct = difference > 0.0 ? 1 : 0,
            .head = {slope}};
  }

  std::int64_t terms(const lm::SequenceTable& all) const override {
    return static_cast<std::int64_t>(all.num_groups());
  }

private:
  double margin_;
};

class RankingMethod final : public LmMethod {
public:
  explicit RankingMethod(double margin) : loss_(margin) {}

  input::RowOptions row_options(input::RowOptions options) const override {
    options.all_of = {"prompt", "chosen", "rejected"};
    return options;
  }

  void encode(const formats::JsonValue& row, RowUse /*use*/, ExampleEncoder& encoder,
              lm::LmExamples& examples) const override {
    encoder.add_pair(row, examples);
  }

  std::int64_t group_size() const override { return kMembers; }
  const lm::TokenLoss& loss() const override { return loss_; }

  std::optional<lm::ModelHead> head(const lm::LmConfig& model) const override {
    return lm::classifier_head(model, lm::Classified::sequences, 1);
  }

  lm::CompanionFiles model_files(const std::filesystem::path& folder) const override {
    return lm::classifier_files(folder, lm::Classified::sequences, 1);
  }

  LossMeaning loss_meaning() const override {
    return {.name = "ranking loss", .is_cross_entropy = false, .held_out_is_cross_entropy = false};
  }
  std::string accuracy() const override { return "pair accuracy"; }

private:
  RankingLoss loss_;
};

void add_keys(KeyTable& table) {
  table.add({.name = kMargin,
             .type = KeyType::number,
             .default_value = "0.0",
             .summary = "by how much the chosen completion should exceed the rejected one",
             .min = 0,
             .max = 100});
}

}  // namespace

RecipeSpec ranking_recipe() {
  RecipeSpec recipe = language_model_recipe();
  recipe.name = "ranking";
  recipe.summary = "a reward model";
  recipe.chosen_by = "train.recipe=ranking";
  recipe.keys.push_back(add_keys);
  recipe.is_chosen = [](const Config& config) { return config.is("train.recipe", "ranking"); };
  recipe.check = [](const Config& config, int ranks) {
    check_lm_keys(config, ranks, RankingMethod(config.number(kMargin)));
  };
  recipe.read = [](const Config& config) -> std::unique_ptr<Recipe> {
    return std::make_unique<LmRecipe>(config,
                                      std::make_unique<RankingMethod>(config.number(kMargin)));
  };
  return recipe;
}

}  // namespace mgpu::recipes
