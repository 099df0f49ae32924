#pragma once

#include <array>

#include "../include/cudaemu/block.hpp"
#include "sanitizers.hpp"

namespace cudaemu {

/// Lanes of one warp that wait for each other at one place.
struct Meeting {
  Place place;
  unsigned mask = 0;     // lanes that take part
  unsigned arrived = 0;  // lanes that have arrived
  unsigned inside = 0;   // lanes that have arrived and not yet continued
  std::array<Offer, kLanes> offers;
  Moment moment;

  bool is_complete() const { return arrived == mask; }

  /// Gives each lane the value that it wants.
  void deliver() const;
};

class Warp {
public:
  /// Returns the meeting that a lane of `mask` joins at this place.
  Meeting& meeting(unsigned mask, const Place& place);

  void clear() {
    for (Meeting& meeting : meetings_)
      meeting.inside = 0;
  }

private:
  // A meeting without lanes is reused. A lane is in at most one meeting, so one per lane is enough.
  // This is an array, because ThreadSanitizer reports the memmove of a vector that grows.
  std::array<Meeting, kLanes> meetings_{};
};

}  // namespace cudaemu
