#pragma once

#include <string>

#include "culprit.hpp"
#include "shared_state.hpp"

namespace mgpu::watch {

/// Returns the state of the rank that `slot` describes. Does not set RankState::silent_s and
/// is_silent.
RankState state_of(const Slot& slot);

/// Returns the call that a rank is in: "in all_reduce of 12 f32, sum (call 7 of its group)", or "in
/// no call between ranks". A call with one peer is shown as "in send_receive of 12 f32 with rank
/// 3".
std::string call_text(const RankState& rank);

/// Returns what a rank does: "phase forward, train, step 20, in no call between ranks".
std::string activity_text(const Slot& slot);

}  // namespace mgpu::watch
