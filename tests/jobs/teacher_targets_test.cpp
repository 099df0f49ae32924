// Compares the targets of a teacher with operators of libtorch.
#include <numeric>

#include <ATen/core/Tensor.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/softmax.h>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "jobs/teacher/targets.hpp"
#include "lm/logits_of.hpp"
#include "made_inputs.hpp"

namespace mgpu::jobs {
namespace {

using rows::test::ids_of;
using testing::Each;
using testing::IsEmpty;

using Texts = std::vector<std::vector<std::int64_t>>;

class TeacherTargetsTest : public testing::Test {
protected:
  TeacherTargetsTest() { config_.top_k = 4; }

  std::vector<TokenTargets> run(const Texts& texts, std::int64_t first = 0,
                                std::int64_t batch = 4) const {
    return TeacherModel(model_, config_, batch).run(texts, first);
  }

  /// Returns the logits of a text divided by the temperature, [T, V] float64.
  at::Tensor logits(const std::vector<std::int64_t>& ids) const {
    const lm::SequenceSpan run{ids};
    return logits_of(model_, model_.hidden({&run, 1})).to(at::kDouble) / config_.temperature;
  }

  /// Returns the logits of a row in descending order, and their ids.
  static std::pair<at::Tensor, at::Tensor> sorted(const at::Tensor& row) {
    const auto [values, ids] = row.sort(0, /*descending=*/true);
    return {values, ids};
  }

  const test::MadeInputs made_;
  const lm::LanguageModel model_ = lm::LanguageModel::open(made_.model());
  const std::vector<std::int64_t> text_ = ids_of("some words.");
  TeacherConfig config_;
};

TEST_F(TeacherTargetsTest, TheMostProbableTokensComeFirst) {
  const TokenTargets targets = run({text_}).front();
  const at::Tensor all = logits(text_);

  ASSERT_EQ(targets.ids.size(), 4 * text_.size());
  for (std::size_t t = 0; t < text_.size(); ++t) {
    const at::Tensor row = all[static_cast<std::int64_t>(t)];
    const auto [values, ids] = sorted(row);
    const double log_sum = at::logsumexp(row, 0).item<double>();
    EXPECT_NEAR(targets.log_sums[t], log_sum, 1e-4);
    double mass = 0.0;
    for (std::int64_t k = 0; k < 4; ++k) {
      const std::size_t at = 4 * t + static_cast<std::size_t>(k);
      EXPECT_EQ(targets.ids[at], ids[k].item<std::int64_t>());
      const double log_prob = values[k].item<double>() - log_sum;
      EXPECT_NEAR(targets.log_probs[at].value(), log_prob, 5e-3);  // float16
      mass += std::exp(log_prob);
    }
    EXPECT_NEAR(targets.tail_mass[t], 1.0 - mass, 1e-5);
  }
  EXPECT_THAT(targets.drawn_ids, IsEmpty());
}

TEST_F(TeacherTargetsTest, ATemperatureDividesTheLogits) {
  const TokenTargets sharp = run({text_}).front();
  config_.temperature = 2.0;
  const TokenTargets soft = run({text_}).front();

  EXPECT_EQ(soft.ids, sharp.ids);
  const double log_sum = at::logsumexp(logits(text_)[2], 0).item<double>();
  EXPECT_NEAR(soft.log_sums[2], log_sum, 1e-4);
  EXPECT_GT(soft.tail_mass[2], sharp.tail_mass[2]);
}

TEST_F(TeacherTargetsTest, AllTokensLeaveNoTail) {
  config_.top_k = 1000;
  const TokenTargets targets = run({text_}).front();

  EXPECT_EQ(targets.ids.size(), rows::test::kVocab * text_.size());
  EXPECT_THAT(targets.tail_mass, Each(testing::Le(1e-5F)));
}

TEST_F(TeacherTargetsTest, TextsWithoutTokensHaveNoTargets) {
  const auto targets = run({{}, text_, {}});

  ASSERT_EQ(targets.size(), 3U);
  EXPECT_THAT(targets[0].log_sums, IsEmpty());
  EXPECT_EQ(targets[1].log_sums.size(), text_.size());
  EXPECT_THAT(targets[2].ids, IsEmpty());
}

TEST_F(TeacherTargetsTest, TargetsDoNotDependOnTheBatch) {
  const Texts texts = {ids_of("a"), ids_of("a longer one"), ids_of("third")};
  for (const bool has_draws : {false, true}) {
    config_.has_draws = has_draws;
    config_.num_draws = 7;
    const auto together = run(texts, 5, 3);
    const auto alone = run({texts[1]}, 6, 1);
    EXPECT_EQ(together[1].log_sums, alone[0].log_sums);
    EXPECT_EQ(together[1].ids, alone[0].ids);
    EXPECT_EQ(together[1].drawn_ids, alone[0].drawn_ids);
    EXPECT_EQ(together[1].drawn_counts, alone[0].drawn_counts);
  }
}

class TeacherDrawsTest : public TeacherTargetsTest {
protected:
  TeacherDrawsTest() {
    config_.has_draws = true;
    config_.num_draws = 50;
  }
};

TEST_F(TeacherDrawsTest, EachTokenHasItsDrawsByAscendingId) {
  const TokenTargets targets = run({text_}).front();

  ASSERT_EQ(targets.num_drawn.size(), text_.size());
  std::size_t next = 0;
  for (const std::uint8_t different : targets.num_drawn) {
    int total = 0;
    for (int i = 0; i < different; ++i, ++next) {
      if (i > 0) {
        EXPECT_GT(targets.drawn_ids[next], targets.drawn_ids[next - 1]);
      }
      EXPECT_GT(targets.drawn_counts[next], 0);
      total += targets.drawn_counts[next];
    }
    EXPECT_EQ(total, 50);
  }
  EXPECT_EQ(next, targets.drawn_ids.size());
  EXPECT_EQ(next, targets.drawn_counts.size());
  EXPECT_THAT(targets.ids, IsEmpty());
}

TEST_F(TeacherDrawsTest, DrawsFollowTheDistribution) {
  config_.num_draws = 255;
  const std::vector<std::int64_t> one = ids_of("a");
  const at::Tensor probabilities = at::softmax(logits(one)[0], 0);
  std::vector<double> counts(static_cast<std::size_t>(rows::test::kVocab), 0.0);
  constexpr int kTexts = 20;
  const auto all = run(Texts(kTexts, one));
  for (const TokenTargets& targets : all)
    for (std::size_t i = 0; i < targets.drawn_ids.size(); ++i)
      counts[targets.drawn_ids[i]] += targets.drawn_counts[i];

  const double draws = 255.0 * kTexts;
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0.0), draws);
  for (std::size_t id = 0; id < counts.size(); ++id) {
    const double p = probabilities[static_cast<std::int64_t>(id)].item<double>();
    const double deviation = std::sqrt(p * (1.0 - p) / draws);
    EXPECT_NEAR(counts[id] / draws, p, 5.0 * deviation + 1e-6) << id;
  }
}

TEST_F(TeacherDrawsTest, ASampleHasDrawsOfItsOwn) {
  const auto targets = run({text_, text_});
  EXPECT_NE(targets[0].drawn_ids, targets[1].drawn_ids);
  EXPECT_EQ(run({text_}, 1)[0].drawn_ids, targets[1].drawn_ids);
  config_.run.seed = 1;
  EXPECT_NE(run({text_}).front().drawn_ids, targets[0].drawn_ids);
}

TEST_F(TeacherDrawsTest, LogSumsAreThoseOfTheLogits) {
  const TokenTargets targets = run({text_}).front();
  const at::Tensor sums = at::logsumexp(logits(text_), 1);
  for (std::size_t t = 0; t < text_.size(); ++t)
    EXPECT_NEAR(targets.log_sums[t], sums[static_cast<std::int64_t>(t)].item<double>(), 1e-4);
}

}  // namespace
}  // namespace mgpu::jobs
