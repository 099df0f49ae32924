#pragma once

#include <string>

#include "culprit.hpp"
#include "shared_state.hpp"

namespace mgpu::watch {

/// Converts a slot to a rank's state, without `silent_s` and `is_silent`.
RankState state_of(const Slot& slot);

/// Formats "in all_reduce of 12 f32, sum", or "in no call between ranks".
std::string call_text(const RankState& rank);

/// Formats "phase forward, train, step 20; in no call between ranks".
std::string activity_text(const Slot& slot);

}  // namespace mgpu::watch
