// Tests the noise of latent steps: its draws, its sizes against closed forms, and its streams.
#include "jobs/collect/latent_noise.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

namespace mgpu::jobs {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Gt;

constexpr std::uint64_t kSeed = 11;

AgentKeys keys_of(Diversity diversity, std::int64_t steps = 4, double temperature = 1.0) {
  AgentKeys keys;
  keys.is_used = true;
  keys.diversity = diversity;
  keys.steps = steps;
  keys.temperature = temperature;
  return keys;
}

/// Returns `state` plus the noise of this step of the path with stream `stream`.
std::vector<float> noisy(const AgentKeys& keys, std::uint64_t stream, std::int64_t step,
                         std::vector<float> state) {
  LatentNoise(keys, kSeed, stream).add(step, state);
  return state;
}

/// Returns a state of `width` elements, 1 and -1 in turn. The standard deviation from width - 1
/// degrees of freedom is sqrt(width / (width - 1)).
std::vector<float> alternating(std::size_t width) {
  std::vector<float> state(width, 1.0F);
  for (std::size_t i = 1; i < width; i += 2)
    state[i] = -1.0F;
  return state;
}

/// Returns the mean square of the noise that a step adds to `state`, over many paths.
double mean_square(const AgentKeys& keys, std::int64_t step, const std::vector<float>& state) {
  constexpr std::uint64_t kPaths = 20000;
  double sum = 0.0;
  for (std::uint64_t path = 0; path < kPaths; ++path) {
    const std::vector<float> changed = noisy(keys, path, step, state);
    for (std::size_t i = 0; i < state.size(); ++i)
      sum += std::pow(static_cast<double>(changed[i]) - state[i], 2);
  }
  return sum / static_cast<double>(kPaths * state.size());
}

/// Returns the mean of U^2, where U is uniform in [low, high].
double mean_square_of_uniform(double low, double high) {
  return (low * low + low * high + high * high) / 3.0;
}

TEST(StreamOfAgentTest, QuestionAgentAndPathHaveBitsThatDoNotOverlap) {
  EXPECT_EQ(stream_of_agent(0, 0, 0), std::uint64_t{1} << 62);
  EXPECT_EQ(stream_of_agent(5, 3, 7) - stream_of_agent(0, 0, 0), (5U * 64U + 3U) * 4096U + 7U);
  std::set<std::uint64_t> streams;
  for (const std::int64_t question : {0, 1, 2, (1 << 29) - 1})
    for (const std::int64_t agent : {0, 1, 31})
      for (const std::int64_t path : {0, 1, 4095})
        streams.insert(stream_of_agent(question, agent, path));
  EXPECT_EQ(streams.size(), 36U);
  EXPECT_LT(*streams.rbegin(), std::uint64_t{1} << 63);  // streams of steps of text begin there
  EXPECT_EQ(stream_of_agent(1 << 29, 1, 2), stream_of_agent(0, 1, 2));
}

TEST(LatentNoiseTest, NoiseDependsOnSeedStreamAndStepOnly) {
  const AgentKeys keys = keys_of(Diversity::hybrid);
  const std::vector<float> state = alternating(6);
  const LatentNoise noise(keys, kSeed, 3);
  std::vector<float> later = state;
  noise.add(2, later);
  std::vector<float> again = state;
  noise.add(0, again);
  EXPECT_EQ(again, noisy(keys, 3, 0, state));  // the earlier call of add() changes nothing
  EXPECT_NE(again, later);
  EXPECT_NE(again, noisy(keys, 4, 0, state));
  std::vector<float> other_seed = state;
  LatentNoise(keys, kSeed + 1, 3).add(0, other_seed);
  EXPECT_NE(again, other_seed);
}

TEST(LatentNoiseTest, NoiseOfFixedSizeIsTheSameForStatesOfAllWidths) {
  const AgentKeys keys = keys_of(Diversity::noise);
  const std::vector<float> wide = noisy(keys, 3, 1, std::vector<float>(5, 0.0F));
  EXPECT_THAT(noisy(keys, 3, 1, {0.0F, 0.0F, 0.0F}), ElementsAre(wide[0], wide[1], wide[2]));
  EXPECT_EQ(std::set<float>(wide.begin(), wide.end()).size(), 5U);
}

TEST(LatentNoiseTest, WithoutDiversityAStateStays) {
  EXPECT_EQ(noisy(keys_of(Diversity::none), 3, 1, alternating(7)), alternating(7));
}

TEST(LatentNoiseTest, NoiseInProportionToTheSpreadLeavesConstantStates) {
  const std::vector<float> constant(8, 2.5F);
  const AgentKeys temperature = keys_of(Diversity::temperature);
  EXPECT_EQ(noisy(temperature, 3, 1, constant), constant);
  EXPECT_THAT(noisy(temperature, 3, 1, {7.0F}), ElementsAre(7.0F));  // one element has no spread
  EXPECT_NE(noisy(temperature, 3, 1, alternating(8)), alternating(8));

  std::vector<float> wide = alternating(8);
  for (float& value : wide)
    value *= 4.0F;
  const std::vector<float> four = noisy(temperature, 3, 1, wide);
  const std::vector<float> one = noisy(temperature, 3, 1, alternating(8));
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_NEAR(four[i], 4.0F * one[i], 1e-5);
}

TEST(LatentNoiseTest, HybridAddsTheOneAndThenTheOther) {
  const std::vector<float> state = alternating(8);
  const std::vector<float> first = noisy(keys_of(Diversity::temperature), 3, 2, state);
  EXPECT_EQ(noisy(keys_of(Diversity::hybrid), 3, 2, state),
            noisy(keys_of(Diversity::noise), 3, 2, first));
}

TEST(LatentNoiseTest, SizesAreThoseOfTheFormulas) {
  const double width = 6.0;
  for (const std::int64_t step : {0, 3}) {
    const double progress = static_cast<double>(step) / 4.0;
    const double of_spread = width / (width - 1.0) * mean_square_of_uniform(0.01, 2.0) *
                             std::pow(0.2 * (1.0 - 0.2 * progress), 2);
    EXPECT_NEAR(mean_square(keys_of(Diversity::temperature), step, alternating(6)) / of_spread, 1.0,
                0.03)
        << step;
    // The variance of T is 0.6^2 / 12, and T / T0 is below 2.
    const double of_fixed_size = mean_square_of_uniform(0.01, 1.5) * (1.0 + 0.03 / 0.25) *
                                 std::pow(0.3 * (1.0 - 0.3 * progress), 2);
    EXPECT_NEAR(
        mean_square(keys_of(Diversity::noise, 4, 0.5), step, alternating(6)) / of_fixed_size, 1.0,
        0.03)
        << step;
  }
}

TEST(LatentNoiseTest, NoiseOfAStepIsNormal) {
  constexpr std::size_t kWidth = 1 << 16;
  const std::vector<float> noise =
      noisy(keys_of(Diversity::noise), 3, 1, std::vector<float>(kWidth, 0.0F));
  double mean = 0.0;
  double squares = 0.0;
  double fourths = 0.0;
  double pairs = 0.0;
  for (std::size_t i = 0; i < kWidth; ++i) {
    const double value = noise[i];
    mean += value / kWidth;
    squares += value * value / kWidth;
    fourths += std::pow(value, 4) / kWidth;
    pairs += i % 2 == 1 ? value * noise[i - 1] / (kWidth / 2.0) : 0.0;
  }
  EXPECT_NEAR(mean / std::sqrt(squares), 0.0, 0.02);
  EXPECT_NEAR(fourths / (squares * squares), 3.0, 0.15);
  EXPECT_NEAR(pairs / squares, 0.0, 0.03);
}

TEST(LatentNoiseTest, TemperaturesOfPathsFillTheirRange) {
  const AgentKeys keys = keys_of(Diversity::noise, 4, 0.31);
  std::vector<double> temperatures;
  for (std::uint64_t path = 0; path < 2000; ++path)
    temperatures.push_back(LatentNoise(keys, kSeed, path).temperature());
  const auto [least, most] = std::ranges::minmax(temperatures);
  EXPECT_THAT(temperatures, Each(Gt(0.0)));
  EXPECT_GE(least, 0.31 - 0.3);
  EXPECT_LT(least, 0.31 - 0.29);
  EXPECT_LE(most, 0.31 + 0.3);
  EXPECT_GT(most, 0.31 + 0.29);
}

}  // namespace
}  // namespace mgpu::jobs
