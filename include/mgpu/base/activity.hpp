#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <mgpu/base/safe_text.hpp>

namespace mgpu {

/// What this process does now, for those who watch it. Has no pointers, so that it can lie in
/// memory that other processes map; see keep_activity_in().
struct Activity {
  std::atomic<std::uint64_t> marks{0};  // changes with each sign of progress
  SafeText<48> phase;                   // "forward": that of the phase clock
  SafeText<96> position;                // "train, step 41000"; "histories, chunk 7"
};

/// Of this process. Any thread.
Activity& activity() noexcept;

/// Says that this process gets on: a load and a store. Any thread. Two threads at once may leave
/// one mark, which says the same.
void mark_progress() noexcept;

/// Moves the activity to `place`, which has to stay until the next call; nullptr: back to memory of
/// this process. Threads that mark progress meanwhile do it in the one or the other.
void keep_activity_in(Activity* place) noexcept;

}  // namespace mgpu
