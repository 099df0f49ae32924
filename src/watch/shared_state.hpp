#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <mgpu/base/activity.hpp>
#include <mgpu/cluster/call_log.hpp>

namespace mgpu::watch {

enum class Presence : int { absent, here, left };

/// The state of one rank, in memory that all ranks of a node share. The slots of ranks on other
/// nodes are copies of the slots that those nodes published last.
struct Slot {
  std::atomic<Presence> presence{Presence::absent};
  std::atomic<int> pid{0};
  std::atomic<std::uint64_t> start_time{0};  // start time of the process, see ProcessInfo
  std::atomic<std::uint64_t> beats{0};       // number of checks by the rank's watchdog thread
  std::atomic<bool> has_reported{false};     // the rank has written its crash file
  std::atomic<char> process_state{'?'};      // ProcessInfo::state at the last check by the node's
                                             // leader (see Watcher)
  SafeText<96> kernel;                       // kernel_words() of the rank's process while the rank
                                             // makes no progress
  Activity activity;
  cluster::CallLog calls;
};

/// The error that a watchdog found, as the text of its report. Only the first error is kept.
struct Verdict {
  enum State : int { none, being_written, published, over };
  static constexpr std::size_t kTextBytes = 8192;

  std::atomic<int> state{none};
  char text[kTextBytes] = {};
};

/// Memory that the ranks of a node share, with a slot for every rank of the world.
///
/// The shared memory object has a name only until all ranks have mapped it, see unlink(). So the
/// kernel frees the memory when the last process ends, even if processes are killed. The memory is
/// never unmapped, because threads may still write into it.
class SharedState {
public:
  /// Creates a shared memory object called `name`. Only processes of the same user can open it.
  /// Errors: Failure E601 when the object cannot be created or mapped, for example because the name
  /// exists or shared memory is full.
  static SharedState create(const std::string& name, int ranks);
  static SharedState open(const std::string& name, int ranks);
  static void unlink(const std::string& name) noexcept;

  /// Returns a name that no other process uses.
  static std::string fresh_name();

  std::span<Slot> slots() const { return slots_; }
  Verdict& verdict() const { return *verdict_; }

private:
  SharedState(void* memory, int ranks);

  Verdict* verdict_;
  std::span<Slot> slots_;
};

}  // namespace mgpu::watch
