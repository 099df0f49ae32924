// Compares the losses of recipe grpo with those of TRL, and with exact numbers.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/formats/safetensors.hpp>
#include <mgpu/kernels/cross_entropy.hpp>

#include "golden_file.hpp"
#include "recipes/grpo/loss.hpp"

namespace mgpu::recipes {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

constexpr double kNoScore = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kMembers = 4;

/// The tensors of tests/oracle/grpo_goldens.py.
class Goldens {
public:
  template <class T = double>
  std::vector<T> values(const std::string& name) const {
    const formats::StoredTensor* tensor = file_.find(name);
    if (tensor == nullptr) throw Error("no golden `" + name + "`");
    std::vector<T> values(tensor->bytes.size() / sizeof(T));
    std::memcpy(values.data(), tensor->bytes.data(), tensor->bytes.size());
    return values;
  }

private:
  formats::SafetensorsFile file_{golden_file("grpo")};
};

/// The completions of the goldens as a batch. Each follows one token of a prompt, and has no
/// padding.
struct Batch {
  explicit Batch(const Goldens& goldens) {
    const auto mask = goldens.values<std::int64_t>("mask");
    const auto now = goldens.values("now");
    const auto entropies = goldens.values("entropies");
    batch.sequence_columns = {{kRewardColumn, goldens.values("rewards")},
                              {kTruncatedColumn, goldens.values("truncated")},
                              {kDifferenceColumn, goldens.values("truncated")}};
    rows = batch.sequence_columns[kRewardColumn].size();
    width = mask.size() / rows;
    ids.assign(width + 1, 1);
    const auto old = goldens.values("old");
    const auto start = goldens.values("start");
    for (std::size_t row = 0; row < rows; ++row) {
      const auto begin = static_cast<std::ptrdiff_t>(row * width);
      const auto length = std::count(mask.begin() + begin,
                                     mask.begin() + begin + static_cast<std::ptrdiff_t>(width), 1);
      lengths.push_back(static_cast<std::size_t>(length));
      batch.spans.push_back({std::span<const std::int64_t>(ids).first(lengths.back() + 1)});
      batch.groups.push_back(row / kMembers);
      batch.targets.insert(batch.targets.end(), lengths.back(), 1);
      batch.targets.push_back(kernels::kIgnoreTarget);
      add(now, begin, length, values.log_probs);
      add(entropies, begin, length, values.entropies);
      add(old, begin, length, batch.token_columns[kOldColumn]);
      add(start, begin, length, batch.token_columns[kStartColumn]);
    }
    // Without kOldColumn, the sampler's log-probabilities are compared with those of training.
    values.plain_log_probs = values.log_probs;
    batch.token_columns[kSampledColumn] = values.log_probs;
  }

  static void add(const std::vector<double>& from, std::ptrdiff_t begin, std::ptrdiff_t count,
                  std::vector<double>& to) {
    to.insert(to.end(), from.begin() + begin, from.begin() + begin + count);
    to.push_back(0.0);
  }

  std::size_t rows = 0;
  std::size_t width = 0;
  std::vector<std::int64_t> ids;
  std::vector<std::size_t> lengths;
  lm::LmBatch batch;
  lm::TokenValues values;
};

/// The results of a loss on a batch.
struct Weighed {
  double loss = 0.0;
  std::vector<double> gradient;  // [rows, width] of the loss, as in the goldens
  BatchNumbers numbers;
  double accuracy = 0.0;
};

Weighed weigh(const GrpoSettings& settings, const Batch& of) {
  const GrpoLoss loss(settings);
  const auto sequences = lm::sequences_of(of.batch, of.values, loss.request());
  std::vector<lm::SequenceFacts> facts;
  std::vector<std::size_t> rows;
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    facts.push_back({s / kMembers, 1000 + s, sequences[s].predictions(), loss.facts(sequences[s])});
    rows.push_back(s);
  }
  const lm::SequenceTable table(std::move(facts));
  const std::vector<double> digest = loss.digest(table);
  Weighed weighed{0.0, {}, BatchNumbers(digest, settings), 0.0};
  const lm::BatchSlopes slopes = lm::weigh_all(loss, sequences, table, digest, rows);
  const auto terms = static_cast<double>(loss.terms(table));
  weighed.loss = slopes.sums.loss / terms;
  weighed.accuracy = static_cast<double>(slopes.sums.correct) / terms;
  weighed.gradient.assign(of.rows * of.width, 0.0);
  std::size_t token = 0;
  for (std::size_t row = 0; row < of.rows; token += of.lengths[row++] + 1)
    for (std::size_t t = 0; t < of.lengths[row]; ++t)
      weighed.gradient[row * of.width + t] = slopes.log_probs[token + t] / terms;
  return weighed;
}

struct Case {
  const char* name;
  PolicyVariant variant;
  RewardScale scale = RewardScale::group;
};

GrpoSettings settings_of(const Goldens& goldens, const Case& tested) {
  const auto numbers = goldens.values(tested.name + std::string(".settings"));
  GrpoSettings settings;
  settings.variant = tested.variant;
  settings.scale = tested.scale;
  settings.clip = {numbers[0], numbers[1]};
  settings.beta = numbers[2];
  settings.masks_truncated = numbers[3] != 0.0;
  settings.group_size = kMembers;
  settings.iterations = 2;  // so that kOldColumn is used
  settings.global_batch = 16;
  settings.lanes = 2;
  settings.sampling.max_new_tokens = 9;
  return settings;
}

class GrpoLossTest : public testing::TestWithParam<Case> {
protected:
  Goldens goldens_;
};

TEST_P(GrpoLossTest, LossGradientAndMetricsAreThoseOfTrl) {
  const std::string name = GetParam().name;

  const Weighed mine = weigh(settings_of(goldens_, GetParam()), Batch(goldens_));

  EXPECT_NEAR(mine.loss, goldens_.values(name + ".loss")[0], 1e-9);
  EXPECT_THAT(mine.gradient, Pointwise(DoubleNear(1e-9), goldens_.values(name + ".gradient")));
  const auto metrics = goldens_.values(name + ".metrics");
  EXPECT_NEAR(mine.numbers.clip_share, metrics[0], 1e-7);
  EXPECT_NEAR(mine.numbers.entropy, metrics[1], 1e-7);
  EXPECT_NEAR(mine.numbers.kl, metrics[2], 1e-7);
}

TEST_P(GrpoLossTest, AdvantagesAreThoseOfFloat64) {
  const auto rewards = goldens_.values("rewards");
  const auto expected = goldens_.values(GetParam().name + std::string(".advantages"));
  const RewardStats all = stats_of(rewards);
  for (std::size_t row = 0; row < rewards.size(); ++row) {
    const RewardStats group =
        stats_of(std::span(rewards).subspan(row / kMembers * kMembers, kMembers));
    EXPECT_NEAR(
        advantage_of(rewards[row], group, all, baseline_of(GetParam().variant), GetParam().scale),
        expected[row], 1e-12)
        << row;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, GrpoLossTest,
    testing::Values(Case{"grpo", PolicyVariant::grpo}, Case{"grpo_kl", PolicyVariant::grpo},
                    Case{"grpo_batch", PolicyVariant::grpo, RewardScale::batch},
                    Case{"grpo_masked", PolicyVariant::grpo},
                    Case{"dr_grpo", PolicyVariant::dr_grpo, RewardScale::none},
                    Case{"dr_grpo_kl", PolicyVariant::dr_grpo, RewardScale::none},
                    Case{"dapo", PolicyVariant::dapo}, Case{"dapo_kl", PolicyVariant::dapo},
                    Case{"bnpo", PolicyVariant::bnpo}, Case{"cispo", PolicyVariant::cispo},
                    Case{"cispo_kl", PolicyVariant::cispo, RewardScale::batch},
                    Case{"gspo", PolicyVariant::gspo}, Case{"gspo_kl", PolicyVariant::gspo},
                    Case{"rloo", PolicyVariant::rloo, RewardScale::none},
                    Case{"reinforce", PolicyVariant::reinforce, RewardScale::none},
                    Case{"reinforce_batch", PolicyVariant::reinforce, RewardScale::batch},
                    Case{"seed_offline", PolicyVariant::seed_offline, RewardScale::none}),
    [](const auto& tested) { return tested.param.name; });

TEST(GrpoBatchTest, SharesAndLengthsCountEachCompletionOnce) {
  const Goldens goldens;
  const Batch batch(goldens);
  const Weighed mine = weigh(settings_of(goldens, {"grpo", PolicyVariant::grpo}), batch);

  EXPECT_EQ(mine.numbers.sequences, 16);
  EXPECT_EQ(mine.numbers.rewards.scored, 15);
  EXPECT_EQ(mine.numbers.zero_variance_share, 0.25);
  EXPECT_EQ(mine.numbers.truncated_share, 3.0 / 16.0);
  EXPECT_EQ(mine.numbers.unscored_share, 1.0 / 16.0);
  EXPECT_EQ(mine.numbers.difference, 1.0);  // the largest of kDifferenceColumn
  const auto tokens = std::accumulate(batch.lengths.begin(), batch.lengths.end(), std::size_t{0});
  EXPECT_NEAR(mine.numbers.completion_length, static_cast<double>(tokens) / 16.0, 1e-12);
  const auto rewards = goldens.values("rewards");
  EXPECT_EQ(
      mine.accuracy,
      static_cast<double>(std::ranges::count_if(rewards, [](double r) { return r > 0; })) / 16.0);
  EXPECT_EQ(reported_values_of(settings_of(goldens, {"grpo", PolicyVariant::grpo})).size(), 9U);
  EXPECT_EQ(reported_values_of(settings_of(goldens, {"grpo_kl", PolicyVariant::grpo})).size(), 10U);
}

TEST(GrpoBatchTest, ReplacedGroupsAndTheRewardsBeforeThemAreCounted) {
  const Goldens goldens;
  Batch batch(goldens);
  GrpoSettings settings = settings_of(goldens, {"grpo", PolicyVariant::grpo});
  settings.refills = 3;
  std::vector<double> first = goldens.values("rewards");
  std::vector<double> refills(first.size(), 0.0);
  for (std::size_t row = 0; row < kMembers; ++row) {
    first[row] = 4.0;
    refills[row] = 2.0;
    refills[2 * kMembers + row] = 1.0;
  }
  first[1] = kNoScore;
  batch.batch.sequence_columns[kFirstRewardColumn] = first;
  batch.batch.sequence_columns[kRefillsColumn] = refills;

  const Weighed mine = weigh(settings, batch);

  EXPECT_EQ(mine.numbers.refilled_groups, 3.0);
  EXPECT_NEAR(mine.numbers.first_reward, stats_of(first).mean, 1e-12);
  EXPECT_EQ(reported_values_of(settings).size(), 11U);
  settings.refills = 0;
  EXPECT_EQ(weigh(settings, batch).numbers.zero_variance_share, mine.numbers.zero_variance_share);
  EXPECT_EQ(weigh(settings, batch).loss, mine.loss);
}

TEST(GrpoBatchTest, InTheFirstStepRatiosAreOneAndNothingIsClipped) {
  const Goldens goldens;
  Batch batch(goldens);
  GrpoSettings settings = settings_of(goldens, {"grpo", PolicyVariant::grpo});
  settings.iterations = 1;
  EXPECT_EQ(weigh(settings, batch).numbers.clip_share, 0.0);
  EXPECT_EQ(weigh(settings, batch).numbers.difference, 0.0);
  EXPECT_NEAR(weigh(settings, batch).loss, 0.0, 1e-15);  // -mean of advantages

  batch.batch.token_columns[kSampledColumn][0] += 0.25;
  EXPECT_EQ(weigh(settings, batch).numbers.difference, 0.25);
}

TEST(GrpoBatchTest, AdvantagesOfAGroupSumToZero) {
  const std::vector<double> rewards{0.0, 1.0, 1.0, 0.25, 7.5};
  const RewardStats stats = stats_of(rewards);
  for (const Baseline baseline :
       {Baseline::group_mean, Baseline::others_mean, Baseline::group_z_score}) {
    double sum = 0.0;
    for (const double reward : rewards)
      sum += advantage_of(reward, stats, stats, baseline, RewardScale::group);
    EXPECT_NEAR(sum, 0.0, 1e-12);
  }
  EXPECT_NEAR(stats.mean, 1.95, 1e-15);
  EXPECT_NEAR(stats.deviation(), std::sqrt(39.3 / 4.0), 1e-12);
}

TEST(GrpoBatchTest, GroupsWithoutTwoScoresHaveNoAdvantage) {
  const std::vector<double> one{kNoScore, 1.0, kNoScore};
  const RewardStats stats = stats_of(one);
  EXPECT_EQ(stats.scored, 1);
  EXPECT_TRUE(stats.are_equal);
  for (const double reward : one)
    EXPECT_EQ(advantage_of(reward, stats, stats, Baseline::others_mean, RewardScale::none), 0.0);
  EXPECT_EQ(stats_of(std::vector<double>{kNoScore}).scored, 0);
  EXPECT_EQ(stats_of(std::vector<double>{0.1, 0.1, 0.1}).deviation(), 0.0);
}

TEST(GrpoBatchTest, SlopesAreThoseOfFiniteDifferences) {
  constexpr double kStep = 1e-6;
  const std::vector<double> old{-1.0, -2.0, -0.5};
  const std::vector<double> start{-1.2, -1.5, -0.6};
  for (const PolicyVariant variant : {PolicyVariant::grpo, PolicyVariant::gspo, PolicyVariant::rloo,
                                      PolicyVariant::reinforce, PolicyVariant::seed_offline}) {
    for (const double advantage : {1.5, -0.5}) {
      const PolicyRule rule{variant, {0.2, 0.2}, 0.3};
      std::vector<double> now{-1.05, -1.4, -0.9};
      const PolicyLoss exact = loss_of(rule, {now, old, start, advantage});
      for (std::size_t t = 0; t < now.size(); ++t) {
        const auto moved = [&](double by) {
          std::vector<double> other = now;
          other[t] += by;
          return loss_of(rule, {other, old, start, advantage}).loss;
        };
        EXPECT_NEAR(exact.slopes[t], (moved(kStep) - moved(-kStep)) / (2 * kStep), 1e-6);
      }
    }
  }
}

TEST(GrpoBatchTest, TheMeanOfTheKlEstimateIsTheDivergence) {
  const std::vector<double> now{0.5, 0.2, 0.2, 0.1};
  const std::vector<double> start{0.25, 0.25, 0.1, 0.4};
  double mean = 0.0;
  double divergence = 0.0;
  for (std::size_t token = 0; token < now.size(); ++token) {
    mean += now[token] * kl_of_token(std::log(now[token]), std::log(start[token]));
    divergence += now[token] * std::log(now[token] / start[token]);
  }
  EXPECT_NEAR(mean, divergence, 1e-15);
}

TEST(GrpoBatchTest, TheKlEstimateIsNeverNegativeAndExactNearZero) {
  for (const double ahead : {-3.0, -1e-9, 0.0, 1e-9, 2.0})
    EXPECT_GE(kl_of_token(-1.0, -1.0 + ahead), 0.0);
  EXPECT_EQ(kl_of_token(-0.7, -0.7), 0.0);
}

}  // namespace
}  // namespace mgpu::recipes
