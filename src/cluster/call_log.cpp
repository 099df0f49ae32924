#include <mgpu/base/activity.hpp>
#include <mgpu/cluster/call_log.hpp>

#include "call_check.hpp"

namespace mgpu::cluster {
namespace {

CallLog own;
std::atomic<CallLog*> current{&own};

CallLog& log_now() noexcept {
  return *current.load(std::memory_order_relaxed);
}

template <class T>
void copy(std::atomic<T>& to, const std::atomic<T>& from) noexcept {
  to.store(from.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

template <class To>
void set_fields(To& to, const CallFields& fields) noexcept {
  for (std::size_t i = 0; i < fields.size(); ++i)
    to.fields[i].store(fields[i], std::memory_order_relaxed);
}

template <class Place>
void copy_words(Place& to, const Place& from) noexcept {
  for (std::size_t i = 0; i < from.fields.size(); ++i)
    copy(to.fields[i], from.fields[i]);
}

void copy_log(CallLog& to, const CallLog& from) noexcept {
  for (std::size_t i = 0; i < CallLog::kGroups; ++i) {
    CallLog::Entry& entry = to.entries[i];
    copy(entry.id, from.entries[i].id);
    copy(entry.number, from.entries[i].number);
    copy(entry.is_inside, from.entries[i].is_inside);
    copy(entry.peer, from.entries[i].peer);
    copy_words(entry, from.entries[i]);
  }
  for (std::size_t i = 0; i < CallLog::kPast; ++i) {
    copy(to.past[i].id, from.past[i].id);
    copy(to.past[i].number, from.past[i].number);
    copy_words(to.past[i], from.past[i]);
  }
  copy(to.num_past, from.num_past);
}

void remember(CallLog& log, std::uint64_t id, std::uint64_t number, const CallFields& fields) {
  const std::uint64_t index = log.num_past.fetch_add(1, std::memory_order_relaxed);
  CallLog::Past& past = log.past[index % CallLog::kPast];
  past.id.store(id, std::memory_order_relaxed);
  past.number.store(number, std::memory_order_relaxed);
  set_fields(past, fields);
}

/// Returns a hash of `x`, by the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

}  // namespace

void keep_call_log_in(CallLog* place) noexcept {
  CallLog& next = place == nullptr ? own : *place;
  if (&next == &log_now()) return;
  copy_log(next, log_now());
  current = &next;
}

LoggedGroup::LoggedGroup(std::uint64_t id) noexcept : id_(id == 0 ? 1 : id) {
  CallLog& log = log_now();
  for (std::size_t i = 0; i < CallLog::kGroups && index_ == kNone; ++i) {
    std::uint64_t free = 0;
    if (!log.entries[i].id.compare_exchange_strong(free, id_)) continue;
    log.entries[i].number = 0;
    log.entries[i].is_inside = 0;
    index_ = static_cast<int>(i);
  }
}

LoggedGroup::~LoggedGroup() {
  if (index_ != kNone) log_now().entries[static_cast<std::size_t>(index_)].id = 0;
}

LoggedGroup::Inside LoggedGroup::enter(const CallFields& fields, int peer) const noexcept {
  if (index_ == kNone) return {*this, false};
  CallLog& log = log_now();
  CallLog::Entry& entry = log.entries[static_cast<std::size_t>(index_)];
  if (entry.is_inside.load(std::memory_order_relaxed) != 0) return {*this, false};
  set_fields(entry, fields);
  entry.peer.store(peer, std::memory_order_relaxed);
  if (peer == kNoPeer) {
    const std::uint64_t number = entry.number.load(std::memory_order_relaxed) + 1;
    entry.number.store(number, std::memory_order_relaxed);
    remember(log, id_, number, fields);
  }
  entry.is_inside.store(1, std::memory_order_release);
  mark_progress();
  return {*this, true};
}

LoggedGroup::Inside::~Inside() {
  if (!is_outer_) return;
  CallLog::Entry& entry = log_now().entries[static_cast<std::size_t>(group_->index_)];
  entry.is_inside.store(0, std::memory_order_release);
  mark_progress();
}

std::uint64_t LoggedGroup::id_of_members(std::span<const int> members, int tag) const noexcept {
  std::uint64_t id = mix(id_ + static_cast<std::uint64_t>(tag) + 1);
  for (const int member : members)
    id = mix(id + static_cast<std::uint64_t>(member) + 1);
  return id;
}

std::uint64_t LoggedGroup::id_of_child(int first) const noexcept {
  return mix(id_ + mix(++children_ + (static_cast<std::uint64_t>(first) << 32)));
}

}  // namespace mgpu::cluster
