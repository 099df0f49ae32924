// Explains why a block whose threads all wait cannot continue.
#include "block.hpp"
#include "place.hpp"

namespace cudaemu {

std::string Block::where_is(unsigned thread) const {
  if (thread >= count_) return "does not exist";
  const Thread& it = threads_[thread];
  if (states_[thread] == State::done) return "has returned";
  return "waits at " + text_of(it.place);
}

std::string Block::why_stuck_in_meeting(unsigned thread) const {
  const Meeting& meeting = *threads_[thread].meeting;
  unsigned lane = 0;
  while ((meeting.mask >> lane & 1U) == 0 || (meeting.arrived >> lane & 1U) != 0)
    ++lane;
  return "thread " + std::to_string(thread) + " waits at " + text_of(meeting.place) + " for lane " +
         std::to_string(lane) + ", which " + where_is(thread / kLanes * kLanes + lane);
}

std::string Block::why_stuck() const {
  for (unsigned t = 0; t < count_; ++t)
    if (states_[t] == State::at_meeting) return why_stuck_in_meeting(t);
  for (unsigned t = 0; t < count_; ++t) {
    const Thread& it = threads_[t];
    if (states_[t] == State::at_barrier && is_same(it.place, barrier_place_)) continue;
    return "not all threads come to the barrier at " + text_of(barrier_place_) + ": thread " +
           std::to_string(t) + " " + where_is(t);
  }
  return "all threads wait";
}

}  // namespace cudaemu
