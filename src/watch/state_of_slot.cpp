#include "state_of_slot.hpp"

#include <algorithm>
#include <string_view>

namespace mgpu::watch {
namespace {

template <class Place>
cluster::CallFields words_in(const Place& place) {
  cluster::CallFields fields{};
  std::transform(place.fields.begin(), place.fields.end(), fields.begin(),
                 [](const auto& word) { return word.load(std::memory_order_relaxed); });
  return fields;
}

std::string in_words(const GroupState& call) {
  std::string text = "in " + cluster::describe(call.fields);
  if (call.peer >= 0) return text + " with rank " + std::to_string(call.peer);
  return text + " (call " + std::to_string(call.number) + " of its group)";
}

}  // namespace

RankState state_of(const Slot& slot) {
  RankState state;
  state.is_here = slot.presence == Presence::here;
  state.is_stopped = slot.process_state == 'T';
  for (const cluster::CallLog::Entry& entry : slot.calls.entries) {
    const std::uint64_t id = entry.id.load(std::memory_order_relaxed);
    if (id == 0) continue;
    state.groups.push_back({id, entry.number.load(std::memory_order_relaxed),
                            entry.is_inside.load(std::memory_order_acquire) != 0,
                            entry.peer.load(std::memory_order_relaxed), words_in(entry)});
  }
  for (const cluster::CallLog::Past& past : slot.calls.past) {
    const std::uint64_t id = past.id.load(std::memory_order_relaxed);
    if (id != 0) {
      state.past.push_back({id, past.number.load(std::memory_order_relaxed), words_in(past)});
    }
  }
  return state;
}

std::string call_text(const RankState& rank) {
  const GroupState* call = rank.call();
  return call == nullptr ? "in no call between ranks" : in_words(*call);
}

std::string activity_text(const Slot& slot) {
  std::string text;
  const std::string_view phase = slot.activity.phase.get();
  const std::string_view position = slot.activity.position.get();
  if (!phase.empty()) text.append("phase ").append(phase).append(", ");
  if (!position.empty()) text.append(position).append(", ");
  return text + call_text(state_of(slot));
}

}  // namespace mgpu::watch
