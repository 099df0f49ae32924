#include "waiter.hpp"

#include <memory>
#include <sstream>
#include <thread>

#include <mgpu/base/activity.hpp>

namespace mgpu::cluster {
namespace {

// A responsive peer answers within this many polls. Between later polls, the thread sleeps.
constexpr int kEagerPolls = 1000;
constexpr auto kPause = std::chrono::microseconds(20);

}  // namespace

TimeoutError timed_out(const std::string& call, const Group& group, double timeout_s) {
  std::ostringstream sentence;
  sentence << call << " was not finished within " << timeout_s << " s";
  std::ostringstream line;
  line << "  rank " << group.rank() << " of " << group.size()
       << " waited in it: a peer did not come";
  std::ostringstream help;
  help << "comm.timeout_s=" << timeout_s * 10 << " waits longer";
  return TimeoutError(
      ErrorReport{"E402", ExitCode::ranks_lost, sentence.str(), {line.str()}, help.str()});
}

Waiter::Waiter(const Group& group, double timeout_s)
    : group_(group), log_(group.log().id_of_child(group.world_rank(0))), timeout_s_(timeout_s) {}

LoggedGroup::Inside Waiter::begin(const Call& call, int peer) {
  call_ = call;
  ++number_;
  if (is_dead_) die("cannot start: an earlier call of this communicator failed");
  if (is_canceled_) die("was given up");
  begun_ = std::chrono::steady_clock::now();
  const int who = peer == LoggedGroup::kNoPeer ? peer : group_.world_rank(peer);
  return log_.enter(words_of(call), who);
}

std::string Waiter::now() const {
  return describe(call_) + " (call " + std::to_string(number_) + ")";
}

void Waiter::die(const std::string& sentence_end) {
  is_dead_ = true;
  throw Failure({"E403", ExitCode::ranks_lost, now() + " " + sentence_end, {}, ""});
}

void Waiter::until(const std::function<bool()>& is_done) {
  for (int polls = 0; !is_done(); ++polls) {
    if (is_canceled_) die("was given up");
    if (polls < kEagerPolls) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(kPause);
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begun_;
    if (waited.count() < timeout_s_) continue;
    is_dead_ = true;
    throw timed_out(now(), group_, timeout_s_);
  }
  mark_progress();
}

void Waiter::until_all(std::span<MPI_Request> requests) {
  until([&] {
    int is_done = 0;
    mpi_check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &is_done,
                          MPI_STATUSES_IGNORE));
    return is_done != 0;
  });
}

void check_call(const Group& group, const Call& mine, Waiter& waiter) {
  if constexpr (!kChecked) return;
  struct AllFields {
    Call mine;
    std::vector<Call> all;
  };
  const std::vector<Call> room(static_cast<std::size_t>(group.size()), mine);
  auto fields = std::make_unique<AllFields>(AllFields{mine, room});
  MPI_Request request = MPI_REQUEST_NULL;
  mpi_check(MPI_Iallgather(&fields->mine, Call::kFields, MPI_INT64_T, fields->all.data(),
                           Call::kFields, MPI_INT64_T, group.raw(), &request));
  try {
    waiter.until_all({&request, 1});
  } catch (...) {
    static_cast<void>(fields.release());  // MPI may still write to the fields
    throw;
  }
  if (const auto difference = find_disagreement(fields->all)) throw ShapeError(*difference);
}

}  // namespace mgpu::cluster
