#pragma once

#include <cstdint>

namespace mgpu::jobs {

/// Phases in the journal of a run of job train.
inline constexpr std::uint32_t kHistoriesPhase = 1;

/// Evaluation of certain weights: chunks of other weights must not be taken for these.
constexpr std::uint32_t evaluation_phase(std::uint32_t weights_crc) {
  return weights_crc | 0x80000000U;
}

}  // namespace mgpu::jobs
