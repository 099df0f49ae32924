#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <mgpu/base/safe_text.hpp>

namespace mgpu {

/// The current work of this process, for observers such as the watchdog. It contains no pointers,
/// so it can be placed in memory that other processes map; see keep_activity_in().
struct Activity {
  std::atomic<std::uint64_t> marks{0};  // changes at each sign of progress
  SafeText<48> phase;                   // current phase of the PhaseClock, such as "forward"
  SafeText<96> position;                // current work: "train, step 41000" or "histories, chunk 7"
  SafeText<1024> death_note;            // path of the process's death note, see DeathNote
};

/// Returns the Activity of this process. Any thread may call it.
Activity& activity() noexcept;

/// Records that this process makes progress; costs a load and a store. Any thread may call it. Two
/// simultaneous calls may count as one, which is enough: observers only look for a change of
/// `marks`.
void mark_progress() noexcept;

/// Moves the Activity of this process to `place`, which must stay valid until the next call of this
/// function; nullptr moves it back to memory of this process. A thread that marks progress during
/// the move writes to the old or the new memory.
void keep_activity_in(Activity* place) noexcept;

}  // namespace mgpu
