#pragma once

#include <cstdint>
#include <span>

#include <mgpu/base/random_streams.hpp>

#include "agent_keys.hpp"

namespace mgpu::jobs {

/// Returns the number of the random stream of a path of an agent. The noise and the tokens of the
/// path are drawn from this stream. The streams of the first 2^29 questions of a data set differ
/// from each other, and from the streams of Collector.
std::uint64_t stream_of_agent(std::int64_t question, std::int64_t agent, std::int64_t path);

/// The noise of one path of an agent. Its random numbers depend only on the seed, the stream and
/// the latent step.
///
/// Source: LatentMAS, arXiv 2511.20639, for latent steps of agents. LatentMAS has one path and no
///         noise.
class LatentNoise {
public:
  /// `stream` is a result of stream_of_agent(). `keys` must outlive this object.
  LatentNoise(const AgentKeys& keys, std::uint64_t seed, std::uint64_t stream);

  /// Adds noise to the state from which the input of step `step` (from 0) is made. With
  /// Diversity::temperature the noise is N std(state) U(0.01, 2) 0.2 (1 - 0.2 step / steps). With
  /// Diversity::noise it is 0.3 N U(0.01, 1.5) (1 - 0.3 step / steps) min(T / T0, 2).
  /// Diversity::hybrid first adds the noise of Diversity::temperature, and then that of
  /// Diversity::noise. N is a standard normal number for each element, and U(a, b) is a uniform
  /// number for each step. `steps` is collect.latent.steps, T0 is collect.latent.temperature, and T
  /// is temperature().
  void add(std::int64_t step, std::span<float> state) const;

  /// Returns T, which is in [T0 - 0.3, T0 + 0.3].
  double temperature() const { return temperature_; }

private:
  void add_normal(std::int64_t step, std::uint64_t kind, double scale,
                  std::span<float> state) const;
  double uniform(std::int64_t step, std::uint64_t kind, double low, double high) const;

  const AgentKeys& keys_;
  RandomStream stream_;
  double temperature_;
};

}  // namespace mgpu::jobs
