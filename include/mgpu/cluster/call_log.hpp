#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace mgpu::cluster {

/// A communication call as four numbers: kind, number of elements, type, and the ReduceOp or the
/// root.
using CallFields = std::array<std::int64_t, 4>;

/// Describes a call in words: "all_reduce of 12 f32, sum". Returns "a call" if a number in `fields`
/// is invalid.
std::string describe(const CallFields& fields);

/// The current and most recent communication calls of one rank. The watchdog reads them to report
/// hangs. A CallLog contains no pointers, so it can be placed in memory that other processes map,
/// see keep_call_log_in().
struct CallLog {
  static constexpr std::size_t kGroups = 64;  // largest number of groups that can be logged at the
                                              // same time; calls of further groups are not logged
  static constexpr std::size_t kPast = 64;    // number of recent collectives that are stored

  /// The current or most recent call of this rank in one group.
  struct Entry {
    std::atomic<std::uint64_t> id{0};         // id of the group; 0: unused entry
    std::atomic<std::uint64_t> number{0};     // collectives entered so far
    std::atomic<std::uint32_t> is_inside{0};  // 1 during a call
    std::atomic<std::int32_t> peer{-1};       // world rank of the peer in a call between two ranks
    std::array<std::atomic<std::int64_t>, 4> fields{};
  };
  /// A collective that this rank has entered.
  struct Past {
    std::atomic<std::uint64_t> id{0};
    std::atomic<std::uint64_t> number{0};
    std::array<std::atomic<std::int64_t>, 4> fields{};
  };

  std::array<Entry, kGroups> entries;
  std::array<Past, kPast> past;
  std::atomic<std::uint64_t> num_past{0};
};

/// Moves the CallLog of this process to `place`, which must stay valid until the next call of this
/// function. With nullptr, moves the log back to memory of this process. During the move, no other
/// thread may be inside a communication call.
void keep_call_log_in(CallLog* place) noexcept;

/// The entry of one group in the CallLog of this process. The destructor frees the entry.
class LoggedGroup {
public:
  static constexpr int kNoPeer = -1;

  LoggedGroup() noexcept = default;

  /// `id` must be the same on all ranks of the group, and no other group may have it.
  explicit LoggedGroup(std::uint64_t id) noexcept;
  LoggedGroup(const LoggedGroup&) = delete;
  LoggedGroup& operator=(const LoggedGroup&) = delete;
  LoggedGroup(LoggedGroup&& other) noexcept { swap(other); }
  LoggedGroup& operator=(LoggedGroup&& other) noexcept {
    swap(other);
    return *this;
  }
  ~LoggedGroup();

  /// Marks a call as running; the destructor records the end of the call.
  class Inside {
  public:
    Inside(const LoggedGroup& group, bool is_outer) noexcept
        : group_(&group), is_outer_(is_outer) {}
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    ~Inside();

  private:
    const LoggedGroup* group_;
    bool is_outer_;
  };

  /// Records that this rank enters a collective, or a call with the one rank `peer` (a world rank).
  /// Only one thread at a time may call it. A call inside another call of the same group counts as
  /// part of the outer call.
  [[nodiscard]] Inside enter(const CallFields& fields, int peer = kNoPeer) const noexcept;

  /// Returns the id of the next group that is split off or duplicated from this one. All ranks of
  /// this group must create such groups in the same order. `first` is the world rank of the new
  /// group's first rank, and distinguishes the groups that one split makes.
  std::uint64_t id_of_child(int first) const noexcept;

  /// Returns the id of the new group of the ranks `members` of this group. Only these ranks create
  /// the new group. `tag` distinguishes groups of the same ranks.
  std::uint64_t id_of_members(std::span<const int> members, int tag) const noexcept;

private:
  static constexpr int kNone = -1;

  void swap(LoggedGroup& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(children_, other.children_);
    std::swap(index_, other.index_);
  }

  std::uint64_t id_ = 0;
  mutable std::uint64_t children_ = 0;
  int index_ = kNone;
};

}  // namespace mgpu::cluster
