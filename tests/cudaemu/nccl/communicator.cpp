#include "communicator.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../emulator/settings.hpp"
#include "../emulator/stream.hpp"

using nccl_standin::Answer;
using nccl_standin::Call;
using nccl_standin::Member;
using nccl_standin::Order;
using nccl_standin::Progress;

namespace {

constexpr auto kPause = std::chrono::microseconds(50);

std::uint64_t name_of_gpu() {
  const char* host = std::getenv("NCCL_HOSTID");
  int device = 0;
  cudaGetDevice(&device);
  return std::hash<std::string_view>()(host == nullptr ? "" : host) * 16 +
         static_cast<std::uint64_t>(device);
}

/// Never returns, like a call of NCCL that hangs.
[[noreturn]] void hang() {
  for (;;)
    std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

ncclComm::InCall::InCall(ncclComm& comm, const char* name) : is_busy_(comm.is_busy_) {
  if (!is_busy_.exchange(true)) return;
  std::fprintf(stderr, "cudaemu: %s while another thread uses the communicator\n", name);
  std::abort();
}

ncclComm::~ncclComm() {
  if (cudaemu::settings().counts) rules_.print_counts();
  for (const int process : processes_)
    if (process > 0) ::close(process);
}

bool ncclComm::pause(double seconds) const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (!is_aborted_ && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(kPause);
  return !is_aborted_;
}

void ncclComm::until_aborted() const {
  while (!is_aborted_)
    std::this_thread::sleep_for(kPause);
}

/// Waits until `condition` is true, and looks for dead peers meanwhile. Returns false if the
/// communicator fails or is aborted first.
template <class Condition>
bool ncclComm::until(Condition condition) {
  while (!condition()) {
    if (is_aborted_ || has_failed()) return false;
    look_at_peers();
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

/// Marks the communicator as failed if a peer has ended, has aborted, or was told to look dead.
void ncclComm::look_at_peers() {
  if (!rules_.notices_peers()) return;
  for (int peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    const auto index = static_cast<std::size_t>(peer);
    pollfd process{processes_.at(index), POLLIN, 0};
    const bool has_ended = process.fd > 0 && ::poll(&process, 1, 0) > 0;
    if (has_ended || segment_->members.at(index).is_gone) fail(ncclRemoteError);
  }
}

void ncclComm::look_lost() {
  segment_->members.at(static_cast<std::size_t>(rank_)).is_gone = true;
}

ncclResult_t ncclComm::connect(const ncclUniqueId& id) {
  const Order order = rules_.next(Call::init);
  if (order.answer == Answer::error) return ncclSystemError;
  if (order.answer == Answer::hang) hang();
  if (!segment_.open(id)) return ncclSystemError;
  segment_->members.at(static_cast<std::size_t>(rank_)).gpu = name_of_gpu();
  std::thread([self = shared_from_this(), order] { self->meet(order); }).detach();
  return ncclInProgress;
}

/// Waits until all ranks have come here, unless `order` demands a failure.
void ncclComm::meet(Order order) {
  if (!pause(order.seconds)) return;
  if (order.answer == Answer::never) return;
  if (order.answer == Answer::async_error) return fail(ncclSystemError);
  if (order.answer == Answer::lost) return look_lost();
  segment_->members.at(static_cast<std::size_t>(rank_)).pid = static_cast<int>(::getpid());
  const auto members = std::span(segment_->members).first(static_cast<std::size_t>(size_));
  if (!until([&] { return std::ranges::all_of(members, [](auto& m) { return m.pid != 0; }); }))
    return;
  watch_members();
  if (share_a_gpu()) return fail(ncclInvalidUsage);
  ncclResult_t connecting = ncclInProgress;
  state_.compare_exchange_strong(connecting, ncclSuccess);
}

void ncclComm::watch_members() {
  for (int peer = 0; peer < size_; ++peer) {
    const auto index = static_cast<std::size_t>(peer);
    const long process = ::syscall(SYS_pidfd_open, segment_->members.at(index).pid.load(), 0);
    processes_.at(index) = static_cast<int>(process);
    if (process < 0) fail(ncclRemoteError);
  }
}

bool ncclComm::share_a_gpu() const {
  std::set<std::uint64_t> gpus;
  for (int peer = 0; peer < size_; ++peer)
    gpus.insert(segment_->members.at(static_cast<std::size_t>(peer)).gpu);
  return std::cmp_less(gpus.size(), size_);
}

ncclResult_t ncclComm::issue(Call call, Transfers transfers, cudaStream_t stream) {
  if (state_ == ncclInProgress) {
    std::fprintf(stderr, "cudaemu: a call of NCCL before the one before was issued\n");
    std::abort();
  }
  if (has_failed()) return state_;
  const Order order = rules_.next(call);
  if (order.answer == Answer::error) return ncclSystemError;
  if (order.answer == Answer::hang) hang();
  auto shared = std::make_shared<Transfers>(std::move(transfers));
  ++outstanding_;
  if (order.answer != Answer::in_progress) {
    enqueue(std::move(shared), stream, order);
    return ncclSuccess;
  }
  state_ = ncclInProgress;
  std::thread([self = shared_from_this(), shared, stream, order] {
    if (self->pause(order.seconds)) {
      self->enqueue(shared, stream, {});
    } else {
      --self->outstanding_;
    }
    ncclResult_t issuing = ncclInProgress;
    self->state_.compare_exchange_strong(issuing, ncclSuccess);
  }).detach();
  return ncclInProgress;
}

void ncclComm::enqueue(std::shared_ptr<Transfers> transfers, cudaStream_t stream, Order order) {
  cudaemu::queue_in(stream, [self = shared_from_this(), transfers = std::move(transfers), order] {
    self->work(*transfers, order);
    --self->outstanding_;
  });
}

/// Does the work of one call in its stream. Like a kernel that waits for a peer, it ends only when
/// its transfers are done or the communicator is aborted.
void ncclComm::work(Transfers& transfers, Order order) {
  if (order.answer == Answer::async_error) fail(ncclSystemError);
  if (order.answer == Answer::lost) look_lost();
  if (order.answer == Answer::late && !pause(order.seconds)) return;
  const bool begins = order.answer == Answer::success || order.answer == Answer::late;
  const auto is_done = [&] {
    Progress progress = Progress::moved;
    while (progress == Progress::moved && !is_aborted_)
      progress = step(transfers);
    if (progress == Progress::mismatch) fail(ncclInvalidUsage);
    return progress == Progress::done;
  };
  if (!begins || !until(is_done)) until_aborted();
}

/// Lets each transfer move a piece if it can. Returns `mismatch` if a peer makes another call,
/// `moved` if a transfer has moved a piece, `done` if all transfers are done, and else `waiting`.
Progress ncclComm::step(Transfers& transfers) {
  bool has_moved = false;
  for (const auto& transfer : transfers) {
    const Progress progress = transfer->step();
    if (progress == Progress::mismatch) return progress;
    has_moved = has_moved || progress == Progress::moved;
  }
  if (has_moved) return Progress::moved;
  const bool is_done = std::ranges::all_of(
      transfers, [](const auto& transfer) { return transfer->step() == Progress::done; });
  return is_done ? Progress::done : Progress::waiting;
}

ncclResult_t ncclComm::finalize() {
  const Order order = rules_.next(Call::finalize);
  if (order.answer == Answer::error) return ncclSystemError;
  if (order.answer == Answer::hang) hang();
  if (has_failed()) return state_;
  state_ = ncclInProgress;
  is_finalized_ = true;
  std::thread([self = shared_from_this(), order] { self->end_together(order); }).detach();
  return ncclInProgress;
}

/// Waits until the work of this rank is done and all ranks have come here, unless `order` demands a
/// failure.
void ncclComm::end_together(Order order) {
  if (!pause(order.seconds)) return;
  if (order.answer == Answer::async_error) return fail(ncclSystemError);
  if (order.answer == Answer::lost) look_lost();
  if (order.answer == Answer::never || order.answer == Answer::lost) return;
  if (!until([this] { return outstanding_ == 0; })) return;
  const auto members = std::span(segment_->members).first(static_cast<std::size_t>(size_));
  members[static_cast<std::size_t>(rank_)].is_finalized = true;
  if (!until([&] {
        return std::ranges::all_of(members, [](auto& m) { return m.is_finalized.load(); });
      }))
    return;
  ncclResult_t ending = ncclInProgress;
  state_.compare_exchange_strong(ending, ncclSuccess);
}

ncclResult_t ncclComm::destroy() {
  const Order order = rules_.next(Call::destroy);
  if (order.answer == Answer::error) return ncclSystemError;
  if (order.answer == Answer::hang) hang();
  return is_finalized_ && state_ == ncclSuccess ? ncclSuccess : ncclInvalidUsage;
}

void ncclComm::abort() {
  const Order order = rules_.next(Call::abort);
  if (order.answer == Answer::hang) hang();
  std::this_thread::sleep_for(std::chrono::duration<double>(order.seconds));
  is_aborted_ = true;
  look_lost();
  while (outstanding_ > 0)
    std::this_thread::sleep_for(kPause);
}
