#pragma once

#include "judge.hpp"
#include "watch_page.hpp"

namespace mgpu::watch {

/// What a slot says of its rank, `silent_s` and `is_silent` aside.
RankState state_of(const Slot& slot);

/// "in all_reduce of 12 f32, sum"; "in no call between ranks".
std::string call_in_words(const RankState& rank);

/// "phase forward, train, step 20; in no call between ranks".
std::string doing_in_words(const Slot& slot);

}  // namespace mgpu::watch
