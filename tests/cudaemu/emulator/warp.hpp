#pragma once

#include <array>
#include <deque>

#include "../include/cudaemu/block.hpp"
#include "sanitizers.hpp"

namespace cudaemu {

/// Lanes of one warp that wait for each other at one place.
struct Meeting {
  Place place;
  unsigned mask = 0;     // who is to come
  unsigned arrived = 0;  // who has come
  unsigned inside = 0;   // who has come and has not gone on yet
  std::array<Offer, kLanes> offers;
  Moment moment;

  bool is_complete() const { return arrived == mask; }

  /// Gives each lane what it takes.
  void deliver() const;
};

class Warp {
public:
  /// The meeting that a lane of `mask` joins at this place.
  Meeting& meeting(unsigned mask, const Place& place);

  void clear() { meetings_.clear(); }

private:
  std::deque<Meeting> meetings_;  // those that nobody is inside are used again
};

}  // namespace cudaemu
