#include "latent_noise.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace mgpu::jobs {
namespace {

constexpr Purpose kLatentNoise{41};  // each path of an agent has a stream with this purpose

constexpr unsigned kBitsOfPath = 12;
constexpr unsigned kBitsOfAgent = 6;
constexpr unsigned kBitsOfQuestion = 29;

/// In each step, this many draws of the stream are reserved for each kind of noise: kind 0 for
/// Diversity::temperature, and kind 1 for Diversity::noise. A state with more than kDrawsOfNoise -
/// kOfNormals elements would also use draws of the next kind.
constexpr std::uint64_t kDrawsOfNoise = std::uint64_t{1} << 20;

// Indices of draws within the kDrawsOfNoise draws of one kind of noise in one step. The normal
// numbers take the draws from kOfNormals on. The path's temperature is draw kOfTemperature of the
// whole stream.
constexpr std::uint64_t kOfUniform = 0;
constexpr std::uint64_t kOfTemperature = 1;
constexpr std::uint64_t kOfNormals = 4;

/// Returns the standard deviation of the D elements of a state, with D - 1 degrees of freedom.
double spread_of(std::span<const float> state) {
  double sum = 0.0;
  for (const float value : state)
    sum += value;
  const double mean = sum / static_cast<double>(state.size());
  double squares = 0.0;
  for (const float value : state)
    squares += (value - mean) * (value - mean);
  return std::sqrt(squares / std::max<double>(1.0, static_cast<double>(state.size()) - 1.0));
}

}  // namespace

std::uint64_t stream_of_agent(std::int64_t question, std::int64_t agent, std::int64_t path) {
  constexpr std::uint64_t kQuestions = (std::uint64_t{1} << kBitsOfQuestion) - 1;
  const std::uint64_t of_question = static_cast<std::uint64_t>(question) & kQuestions;
  const std::uint64_t of_agent = (of_question << kBitsOfAgent) | static_cast<std::uint64_t>(agent);
  return (std::uint64_t{1} << 62) | (of_agent << kBitsOfPath) | static_cast<std::uint64_t>(path);
}

LatentNoise::LatentNoise(const AgentKeys& keys, std::uint64_t seed, std::uint64_t stream)
    : keys_(keys), stream_(seed, kLatentNoise, 0, stream), temperature_(0.0) {
  temperature_ = keys.temperature - 0.3 + 0.6 * stream_.uniform(kOfTemperature);
}

double LatentNoise::uniform(std::int64_t step, std::uint64_t kind, double low, double high) const {
  const std::uint64_t draw =
      (2 * static_cast<std::uint64_t>(step) + kind) * kDrawsOfNoise + kOfUniform;
  return low + (high - low) * stream_.uniform(draw);
}

/// Adds a normal number with standard deviation `scale` to each element of `state`. The Box-Muller
/// transform makes two normal numbers from two uniform numbers. `kind` is 0 or 1, with the meaning
/// that kDrawsOfNoise describes.
void LatentNoise::add_normal(std::int64_t step, std::uint64_t kind, double scale,
                             std::span<float> state) const {
  const std::uint64_t first =
      (2 * static_cast<std::uint64_t>(step) + kind) * kDrawsOfNoise + kOfNormals;
  for (std::size_t i = 0; i < state.size(); i += 2) {
    const double radius = std::sqrt(
        -2.0 * std::log((static_cast<double>(stream_.bits(first + i)) + 1.0) * 0x1.0p-32));
    const double angle =
        2.0 * std::numbers::pi * static_cast<double>(stream_.bits(first + i + 1)) * 0x1.0p-32;
    state[i] += static_cast<float>(scale * radius * std::cos(angle));
    if (i + 1 < state.size()) state[i + 1] += static_cast<float>(scale * radius * std::sin(angle));
  }
}

void LatentNoise::add(std::int64_t step, std::span<float> state) const {
  const double progress = static_cast<double>(step) / static_cast<double>(keys_.steps);
  const Diversity diversity = keys_.diversity;
  if (diversity == Diversity::temperature || diversity == Diversity::hybrid)
    add_normal(step, 0,
               spread_of(state) * uniform(step, 0, 0.01, 2.0) * 0.2 * (1.0 - 0.2 * progress),
               state);
  if (diversity == Diversity::noise || diversity == Diversity::hybrid)
    add_normal(step, 1,
               0.3 * uniform(step, 1, 0.01, 1.5) * (1.0 - 0.3 * progress) *
                   std::min(temperature_ / keys_.temperature, 2.0),
               state);
}

}  // namespace mgpu::jobs
