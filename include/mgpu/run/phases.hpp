#pragma once

#include <cstdint>

namespace mgpu::run {

/// Phases in the journal of a run. The histories of job train:
inline constexpr std::uint32_t kHistoriesPhase = 1;

/// Completions of the prompts and by the model that `inputs_crc` identifies.
constexpr std::uint32_t generation_phase(std::uint32_t inputs_crc) {
  return inputs_crc | 0x80000000U;
}

/// Log-probabilities of the rows and by the model that `inputs_crc` identifies.
constexpr std::uint32_t scoring_phase(std::uint32_t inputs_crc) {
  return inputs_crc | 0x80000000U;
}

/// Evaluation of these weights; chunks of other weights must not be reused.
constexpr std::uint32_t evaluation_phase(std::uint32_t weights_crc) {
  return weights_crc | 0x80000000U;
}

}  // namespace mgpu::run
