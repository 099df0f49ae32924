// Compares scores of paths with their formulas, and checks the moments of the noise.
#include "jobs/collect/path_scores.hpp"

#include <cmath>
#include <set>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include "jobs/collect/latent_noise.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;

TEST(PathScoresTest, ScoresFollowTheirFormula) {
  // Two paths of two states of width 2. The mean states have the cosine 0.
  const std::vector<float> a{1.0F, 0.0F, 1.0F, 0.0F};
  const std::vector<float> b{0.0F, 1.0F, 0.0F, 3.0F};
  const std::vector<const std::vector<float>*> states{&a, &b};

  const auto scores = score_paths(states, 2);

  const auto expected = [](double variation) {
    const double smoothness = std::exp(-10.0 * (1.0 + variation) / 1.1 / 15.0);
    const double quality = (1.0 / (1.0 + variation) + 1.0) / 2.0;
    const double base = 0.4 * 0.5 + 0.3 * smoothness + 0.2 * 0.5 + 0.1 * quality;
    return 0.6 * base + 0.4 * 0.5;
  };
  EXPECT_NEAR(scores[0].score, expected(0.0), 1e-12);
  EXPECT_NEAR(scores[1].score, expected(0.5), 1e-12);  // norms 1 and 3
  EXPECT_NEAR(scores[0].consistency, 0.5, 1e-12);
}

TEST(PathScoresTest, PruningKeepsConsistentPathsFirstAndAtLeastTwo) {
  const std::vector<PathScore> scores{{0.9, 0.5}, {0.2, 0.95}, {0.8, 0.5}, {0.3, 0.92}, {0.7, 0.1},
                                      {0.1, 0.1}, {0.1, 0.1},  {0.1, 0.1}, {0.1, 0.1},  {0.1, 0.1}};

  EXPECT_THAT(prune(scores, 0.0), ElementsAre(0, 3, 1));
  EXPECT_EQ(prune(scores, 1.0).size(), 8U);
  EXPECT_EQ(prune(std::span(scores).first(3), 0.0).size(), 2U);
  EXPECT_THAT(by_score(std::span(scores).first(5)), ElementsAre(0, 2, 4, 3, 1));
}

TEST(PathScoresTest, SimilarPathsMergeIntoTheBestOfThem) {
  // The mean states point to 0, 20, 45 and 90 degrees.
  const std::vector<float> a{1.0F, 0.0F};
  const std::vector<float> b{0.9397F, 0.3420F};
  const std::vector<float> c{0.7071F, 0.7071F};
  const std::vector<float> d{0.0F, 1.0F};
  const std::vector<const std::vector<float>*> states{&a, &b, &c, &d};
  const std::vector<PathScore> scores{{0.5, 0.0}, {0.9, 0.0}, {0.7, 0.0}, {0.8, 0.0}};

  EXPECT_THAT(merge_targets(states, 2, scores, 0.9), ElementsAre(1, 1, 1, 3));
  EXPECT_THAT(merge_targets(states, 2, scores, 0.93), ElementsAre(1, 1, 2, 3));
  EXPECT_THAT(merge_targets(states, 2, scores, 1.0), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(merge_targets(states, 2, scores, -1.0), ElementsAre(1, 1, 1, 1));
}

TEST(PathScoresTest, DividedPathsShareTheChildren) {
  EXPECT_THAT(share_children(7, {true, true, true}), ElementsAre(3, 2, 2));
  EXPECT_THAT(share_children(8, {true, false, true, false}), ElementsAre(3, 1, 3, 1));
  EXPECT_THAT(share_children(9, {false, true, true, false}), ElementsAre(1, 4, 3, 1));
  EXPECT_THAT(share_children(8, {false, false}), ElementsAre(1, 1));
  EXPECT_THAT(share_children(2, {true, true}), ElementsAre(1, 1));
}

TEST(PathScoresTest, VotesAreWeighedAndEmptyAnswersDoNotCount) {
  EXPECT_EQ(vote(std::vector{0, 1, 1, -1}, std::vector{0.9, 0.4, 0.4, 5.0}), 0);
  EXPECT_EQ(vote(std::vector{0, 1, 1}, std::vector{0.7, 0.4, 0.4}), 1);
  EXPECT_EQ(vote(std::vector{0, 1}, std::vector{1.0, 1.0}), 0);
  EXPECT_EQ(vote(std::vector{-1}, std::vector{1.0}), -1);
}

TEST(LatentNoiseTest, StreamsDiffer) {
  std::set<std::uint64_t> streams;
  for (const std::int64_t question : {0, 1, (1 << 29) - 1})
    for (const std::int64_t agent : {0, 1, 31})
      for (const std::int64_t path : {0, 1, 4095})
        streams.insert(stream_of_agent(question, agent, path));
  EXPECT_EQ(streams.size(), 27U);
}

TEST(LatentNoiseTest, NoiseHasTheSpreadOfItsFormula) {
  constexpr std::size_t kWidth = 4000;
  AgentKeys keys;
  for (const Diversity diversity : {Diversity::temperature, Diversity::noise}) {
    keys.diversity = diversity;
    double squares = 0.0;
    double sum = 0.0;
    for (std::uint64_t path = 0; path < 300; ++path) {
      std::vector<float> state(kWidth, 0.0F);
      for (std::size_t i = 0; i < kWidth; ++i)
        state[i] = i % 2 == 0 ? 3.0F : -3.0F;
      const std::vector<float> before = state;
      LatentNoise(keys, 5, path).add(0, state);
      for (std::size_t i = 0; i < kWidth; ++i) {
        sum += state[i] - before[i];
        squares += std::pow(state[i] - before[i], 2);
      }
    }
    const double count = 300.0 * kWidth;
    // The mean of U^2 is (a^2 + a b + b^2) / 3; min(T / T0, 2) is uniform in [0.7, 1.3].
    const double expected = diversity == Diversity::temperature
                                ? 0.04 * 9.0 * (0.01 * 0.01 + 0.01 * 2.0 + 4.0) / 3.0
                                : 0.09 * (0.01 * 0.01 + 0.01 * 1.5 + 2.25) / 3.0 * (1.0 + 0.03);
    EXPECT_NEAR(squares / count, expected, 0.12 * expected);
    EXPECT_NEAR(sum / count, 0.0, 0.01);
  }
}

TEST(LatentNoiseTest, NoneLeavesStatesUnchanged) {
  AgentKeys keys;
  keys.diversity = Diversity::none;
  std::vector<float> state{1.0F, 2.0F, 3.0F};

  LatentNoise(keys, 1, 2).add(3, state);

  EXPECT_THAT(state, ElementsAre(1.0F, 2.0F, 3.0F));
}

}  // namespace
}  // namespace mgpu::jobs
