// The program that watchdog_test.cpp starts: ranks compute and synchronize in each step, until one
// of them misbehaves as the first argument says. Usage: hang_probe HOW RANK FOLDER [LIMIT_S]
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/phase_clock.hpp>
#include <mgpu/cluster/communicator.hpp>
#include <mgpu/cluster/mpi_session.hpp>
#include <mgpu/cluster/topology.hpp>
#include <mgpu/watch/watchdog.hpp>

namespace {

using namespace mgpu;           // NOLINT: a program of one file
using namespace mgpu::cluster;  // NOLINT
using std::chrono::milliseconds;

constexpr int kSteps = 60;
constexpr int kBadStep = 40;

struct Arguments {
  std::string how;
  int rank;
  fs::path folder;
  double limit_s;
};

/// Works for three times the limit, with signs of progress.
void work_long(const Arguments& arguments) {
  const auto steps = static_cast<int>(3 * arguments.limit_s / 0.05);
  for (int i = 0; i < steps; ++i) {
    std::this_thread::sleep_for(milliseconds(50));
    mark_progress();
  }
}

void sleep_for_limits(const Arguments& arguments, double limits) {
  std::this_thread::sleep_for(std::chrono::duration<double>(limits * arguments.limit_s));
}

/// Misbehaves instead of doing the step's work.
void misbehave(const Arguments& arguments, const Group& world, Communicator& peers) {
  const std::string_view how = arguments.how;
  std::int32_t value = 0;
  const int other = (world.rank() + 1) % world.size();
  if (how == "stop" || how == "stop_node") std::raise(SIGSTOP);
  if (how == "kill") std::raise(SIGKILL);
  if (how == "crash") std::raise(SIGSEGV);
  if (how == "sleep") sleep_for_limits(arguments, 100);
  if (how == "late") sleep_for_limits(arguments, 0.5);
  if (how == "work") work_long(arguments);
  if (how == "receive") peers.receive({&value, 1, DType::i32, {}}, other);
  if (how == "hidden_receive") {
    MPI_Recv(&value, 1, MPI_INT, other, 99, world.raw(), MPI_STATUS_IGNORE);
  }
  if (how == "spin") {
    for (volatile std::uint64_t turns = 0;;)
      turns = turns + 1;
  }
}

/// Runs the collective of the step; the wrong one if `is_mixed_up`.
void synchronize(const Group& world, bool is_mixed_up) {
  if (is_mixed_up) return static_cast<void>(world.broadcast("", world.size() - 1));
  static_cast<void>(world.all_reduce(std::int64_t{1}));
}

void work(const Arguments& arguments) {
  PhaseClock clock(0.0, "start");
  const Group world = Group::world();
  const Topology topology(world, 1);
  CrashFile crash({.directory = arguments.folder / "crash",
                   .world_rank = world.rank(),
                   .world_size = world.size()});
  const watch::Watchdog watchdog(topology, crash,
                                 {.limit_s = arguments.limit_s,
                                  .slow_limit_s = 100 * arguments.limit_s,
                                  .slow_phases = {"slow"},
                                  .directory = arguments.folder});
  const auto peers = make_communicator(world, Backend::mpi, {});
  const bool is_bad = world.rank() == arguments.rank ||
                      (arguments.how == "stop_node" && world.rank() > arguments.rank);
  for (int step = 0; step < kSteps; ++step) {
    activity().position.set("step " + std::to_string(step));
    const auto computing = clock.enter("compute");
    std::this_thread::sleep_for(milliseconds(2));
    const bool is_now = is_bad && step == kBadStep;
    if (is_now && arguments.how == "slow") {
      const auto slow = clock.enter("slow");
      sleep_for_limits(arguments, 2.5);
    } else if (is_now) {
      misbehave(arguments, world, *peers);
    }
    synchronize(world, is_now && arguments.how == "mismatch");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return static_cast<int>(ExitCode::usage);
  const Arguments arguments{argv[1], std::atoi(argv[2]), argv[3],
                            argc > 4 ? std::atof(argv[4]) : 1.0};
  const MpiSession session;
  work(arguments);
  return static_cast<int>(ExitCode::done);
}
