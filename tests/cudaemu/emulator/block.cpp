#include "block.hpp"

#include <cstdlib>

#include "place.hpp"
#include "settings.hpp"

uint3 threadIdx;
uint3 blockIdx;
dim3 blockDim;
dim3 gridDim;

namespace cudaemu {

Block the_block;

std::string Block::run(const std::vector<unsigned>& order, const std::function<void()>& kernel) {
  order_ = order;
  kernel_ = &kernel;
  host_ = Fiber::current();
  begin();
  begun_.release();
  position_ = 0;
  running_ = order_.front();
  threadIdx = threads_[running_].index;
  Fiber::hand_over(host_, threads_[running_].fiber);
  ended_.acquire();
  if (problem_.empty() && num_done_ < count_) problem_ = why_stuck();
  if (!problem_.empty()) give_up();
  return problem_;
}

void Block::begin() {
  count_ = static_cast<unsigned>(order_.size());
  num_done_ = 0;
  num_waiting_ = 0;
  is_divided_ = false;
  skips_ = !settings().skipped.empty();
  problem_.clear();
  for (unsigned t = 0; t < count_; ++t) {
    Thread& thread = threads_[t];
    thread.index = {t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y};
    states_[t] = State::ready;
    thread.fiber.begin(&Block::thread_main, t);
  }
}

void Block::thread_main() {
  the_block.begun_.acquire();
  (*the_block.kernel_)();
  the_block.ended_.release();
  the_block.states_[the_block.running_] = State::done;
  ++the_block.num_done_;
  the_block.pass_on();
  std::abort();
}

/// Resumes the next thread that can continue, or the host if no thread can.
void Block::pass_on() {
  const unsigned from = running_;
  for (unsigned tried = 0; tried < count_; ++tried) {
    if (++position_ == count_) position_ = 0;
    const unsigned next = order_[position_];
    if (states_[next] == State::ready) return resume(next);
  }
  Fiber::hand_over(threads_[from].fiber, host_);
}

void Block::resume(unsigned thread) {
  const unsigned from = running_;
  if (thread == from) return;
  running_ = thread;
  threadIdx = threads_[thread].index;
  Fiber::hand_over(threads_[from].fiber, threads_[thread].fiber);
}

void Block::barrier(const Place& place) {
  if (skips_ && text_of(place) == settings().skipped) return;
  threads_[running_].place = place;
  Moment& moment = barriers_[num_barriers_ % 2];
  moment.release();
  if (num_waiting_ == 0)
    barrier_place_ = place;
  else if (!is_same(place, barrier_place_))
    is_divided_ = true;
  ++num_waiting_;
  states_[running_] = State::at_barrier;
  if (num_waiting_ == count_ && !is_divided_) open_barrier();
  pass_on();
  moment.acquire();
}

/// Lets all threads continue. They run in the order in which they started, not in that of arrival.
void Block::open_barrier() {
  position_ = count_ - 1;
  num_waiting_ = 0;
  ++num_barriers_;
  for (unsigned t = 0; t < count_; ++t)
    states_[t] = State::ready;
}

void Block::check_mask(unsigned mask, const Offer& offer, const Place& place) {
  const auto has = [mask](unsigned lane) { return (mask >> lane & 1U) != 0; };
  if (!has(running_ % kLanes)) fail("a thread is not in the mask of its own call", place);
  if (offer.from < kLanes && !has(offer.from))
    fail("a shuffle reads a lane outside its mask", place);
}

void Block::exchange(unsigned mask, const Offer& offer, bool orders_memory, const Place& place) {
  check_mask(mask, offer, place);
  const unsigned lane = running_ % kLanes;
  const unsigned bit = 1U << lane;
  Meeting& meeting = warps_[running_ / kLanes].meeting(mask, place);
  meeting.offers[lane] = offer;
  meeting.arrived |= bit;
  meeting.inside |= bit;
  if (orders_memory) meeting.moment.release();
  if (meeting.is_complete()) {
    open(meeting, running_ - lane);
  } else {
    threads_[running_].place = place;
    threads_[running_].meeting = &meeting;
    states_[running_] = State::at_meeting;
    pass_on();
  }
  if (orders_memory) meeting.moment.acquire();
  meeting.inside &= ~bit;
}

void Block::open(const Meeting& meeting, unsigned first) {
  meeting.deliver();
  for (unsigned l = 0; l < kLanes; ++l)
    if ((meeting.mask >> l & 1U) != 0) states_[first + l] = State::ready;
}

void Block::fail(const char* what, const Place& place) {
  problem_ = std::string(what) + ": thread " + std::to_string(running_) + " at " + text_of(place);
  Fiber::hand_over(threads_[running_].fiber, host_);
  std::abort();
}

/// Abandons the stacks of a stopped kernel, which are never read again.
void Block::give_up() {
  for (unsigned t = 0; t < count_; ++t)
    threads_[t].fiber.abandon(host_);
  for (Warp& warp : warps_)
    warp.clear();
}

void fail(const char* what, Place place) {
  the_block.fail(what, place);
}

void block_barrier(Place place) {
  the_block.barrier(place);
}

void exchange(unsigned mask, const Offer& offer, Place place) {
  the_block.exchange(mask, offer, false, place);
}

void warp_barrier(unsigned mask, Place place) {
  the_block.exchange(mask, {}, true, place);
}

unsigned lane() {
  return the_block.running() % kLanes;
}

unsigned thread_of_block() {
  return the_block.running();
}

}  // namespace cudaemu
