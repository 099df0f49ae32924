#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include <mgpu/cluster/shared_counter.hpp>

#include "waiter.hpp"

namespace mgpu::cluster {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kAnswerer = 0;
constexpr int kAskTag = 1;
constexpr int kAnswerTag = 2;
constexpr Clock::duration kShortestPause = std::chrono::microseconds(50);
constexpr Clock::duration kLongestPause = std::chrono::milliseconds(2);

}  // namespace

struct SharedCounter::State {
  Group group;
  Waiter waiter;
  std::atomic<std::int64_t> next = 0;
  std::atomic<bool> is_over = false;
  std::atomic<bool> has_failed = false;
  std::exception_ptr failure{};  // set before has_failed
  std::thread answerer{};

  State(const Group& from, double timeout_s) : group(from.duplicate()), waiter(group, timeout_s) {
    if (group.rank() == kAnswerer && group.size() > 1) answerer = std::thread([this] { serve(); });
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ~State() {
    is_over = true;
    if (answerer.joinable()) answerer.join();
  }

  void serve() {
    try {
      Clock::time_point asked = Clock::now();
      while (!is_over) {
        if (answer_one()) {
          asked = Clock::now();
          continue;
        }
        const Clock::duration silence = Clock::now() - asked;
        std::this_thread::sleep_for(std::clamp(silence / 100, kShortestPause, kLongestPause));
      }
    } catch (...) {
      failure = std::current_exception();
      has_failed = true;
    }
  }

  /// Answers one rank that asks for a number. Returns whether a rank had asked.
  bool answer_one() {
    int is_there = 0;
    MPI_Status status{};
    mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, kAskTag, group.raw(), &is_there, &status));
    if (is_there == 0) return false;
    mpi_check(
        MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, kAskTag, group.raw(), MPI_STATUS_IGNORE));
    const std::int64_t ticket = next++;
    mpi_check(MPI_Send(&ticket, 1, MPI_INT64_T, status.MPI_SOURCE, kAnswerTag, group.raw()));
    return true;
  }

  std::int64_t ask() {
    mpi_check(MPI_Send(nullptr, 0, MPI_BYTE, kAnswerer, kAskTag, group.raw()));
    const auto inside = waiter.begin(
        {CallKind::send_receive, 1, static_cast<std::int64_t>(DType::i64), kAnswerer}, kAnswerer);
    waiter.until([&] {
      int is_there = 0;
      mpi_check(MPI_Iprobe(kAnswerer, kAnswerTag, group.raw(), &is_there, MPI_STATUS_IGNORE));
      return is_there != 0;
    });
    std::int64_t ticket = 0;
    mpi_check(
        MPI_Recv(&ticket, 1, MPI_INT64_T, kAnswerer, kAnswerTag, group.raw(), MPI_STATUS_IGNORE));
    return ticket;
  }
};

SharedCounter::SharedCounter(const Group& group, double timeout_s)
    : state_(std::make_unique<State>(group, timeout_s)) {}

SharedCounter::~SharedCounter() = default;

std::int64_t SharedCounter::take() {
  if (state_->group.rank() != kAnswerer) return state_->ask();
  if (state_->has_failed) std::rethrow_exception(state_->failure);
  return state_->next++;
}

}  // namespace mgpu::cluster
