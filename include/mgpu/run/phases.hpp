#pragma once

#include <cstdint>

namespace mgpu::run {

/// Phases in the journal of a run: of job train,
inline constexpr std::uint32_t kHistoriesPhase = 1;

/// Completions of certain prompts by a certain model.
constexpr std::uint32_t generation_phase(std::uint32_t inputs_crc) {
  return inputs_crc | 0x80000000U;
}

/// What a certain model says of certain rows.
constexpr std::uint32_t scoring_phase(std::uint32_t inputs_crc) {
  return inputs_crc | 0x80000000U;
}

/// Evaluation of certain weights: chunks of other weights must not be taken for these.
constexpr std::uint32_t evaluation_phase(std::uint32_t weights_crc) {
  return weights_crc | 0x80000000U;
}

}  // namespace mgpu::run
