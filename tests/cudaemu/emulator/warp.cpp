#include "warp.hpp"

#include <algorithm>

#include "place.hpp"

namespace cudaemu {
namespace {

/// Copies byte by byte. The values stand for registers, so ThreadSanitizer must not see these
/// accesses, but it would see those of memcpy().
void copy(const void* from, void* to, std::size_t bytes) {
  const auto* source = static_cast<const volatile unsigned char*>(from);
  auto* aim = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < bytes; ++i)
    aim[i] = source[i];
}

bool has(unsigned mask, unsigned lane) {
  return (mask >> lane & 1U) != 0;
}

}  // namespace

void Meeting::deliver() const {
  for (unsigned l = 0; l < kLanes; ++l) {
    const Offer& offer = offers[l];
    if (!has(mask, l) || offer.result == nullptr) continue;
    if (offer.from < kLanes) {
      copy(offers[offer.from].value, offer.result, offer.bytes);
      continue;
    }
    auto* to = static_cast<unsigned char*>(offer.result);
    for (unsigned from = 0; from < kLanes; ++from)
      if (has(mask, from)) copy(offers[from].value, to + from * offer.bytes, offer.bytes);
  }
}

Meeting& Warp::meeting(unsigned mask, const Place& place) {
  const auto waits_for_it = [&](const Meeting& meeting) {
    return meeting.inside != 0 && !meeting.is_complete() && meeting.mask == mask &&
           is_same(meeting.place, place);
  };
  const auto joined = std::find_if(meetings_.begin(), meetings_.end(), waits_for_it);
  if (joined != meetings_.end()) return *joined;
  Meeting& meeting = *std::find_if(meetings_.begin(), meetings_.end(),
                                   [](const Meeting& other) { return other.inside == 0; });
  meeting.place = place;
  meeting.mask = mask;
  meeting.arrived = 0;
  return meeting;
}

}  // namespace cudaemu
