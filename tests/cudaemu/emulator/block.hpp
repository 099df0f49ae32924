#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "../include/cudaemu/block.hpp"
#include "../include/cudaemu/builtins.hpp"
#include "fiber.hpp"
#include "warp.hpp"

namespace cudaemu {

inline constexpr unsigned kMaxThreads = 1024;

/// The running block with one fiber per thread. A thread runs until it must wait. Then the next
/// thread that can continue runs, in a fixed order.
class Block {
public:
  /// Runs `kernel` on threads 0 to order.size() - 1, which take turns in that order. Returns "", or
  /// the reason for stopping the block.
  std::string run(const std::vector<unsigned>& order, const std::function<void()>& kernel);

  // Called by the running thread.
  unsigned running() const { return running_; }
  void barrier(const Place& place);
  void exchange(unsigned mask, const Offer& offer, bool orders_memory, const Place& place);
  [[noreturn]] void fail(const char* what, const Place& place);

private:
  enum class State : std::uint8_t { ready, at_barrier, at_meeting, done };

  struct alignas(64) Thread {
    Fiber fiber;
    uint3 index{};
    Place place;                 // where the thread waits
    Meeting* meeting = nullptr;  // meeting that the thread waits for
  };

  static void thread_main();
  void begin();
  void check_mask(unsigned mask, const Offer& offer, const Place& place);
  void pass_on();
  void resume(unsigned thread);
  void open_barrier();
  void open(const Meeting& meeting, unsigned first);
  void give_up();
  std::string why_stuck() const;
  std::string why_stuck_in_meeting(unsigned thread) const;
  std::string where_is(unsigned thread) const;

  std::array<Thread, kMaxThreads> threads_;
  std::array<State, kMaxThreads> states_{};  // separate, because all are read often
  std::array<Warp, kMaxThreads / kLanes> warps_;
  std::vector<unsigned> order_;
  const std::function<void()>* kernel_ = nullptr;
  Fiber host_;
  std::string problem_;
  std::size_t position_ = 0;  // index into order_
  unsigned running_ = 0;
  unsigned count_ = 0;
  unsigned num_done_ = 0;
  unsigned num_waiting_ = 0;  // threads at the barrier of the block
  bool is_divided_ = false;   // waiting threads are at different barriers
  bool skips_ = false;        // a test removes a barrier (Settings::skipped)
  Place barrier_place_;
  // A thread may reach the next barrier before another has left this one.
  std::array<Moment, 2> barriers_;
  unsigned num_barriers_ = 0;
  Moment begun_;
  Moment ended_;
};

/// The only Block in the program.
extern Block the_block;

}  // namespace cudaemu
