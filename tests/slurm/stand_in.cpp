// A small MPI job that implements the program's contract with its launchers. It names its run
// directory, journals each step, and resumes. On USR1 or TERM it saves and exits 75. Its result is
// the same on any number of ranks. The launchers' tests run it instead of the whole program.
//
//   stand_in CONF.yaml [KEY=VALUE ...] [--output DIR] [--name NAME] [--resume=...]
//
// Keys (`key: value` lines of CONF): `steps` and `step_ms`. `divide=1` refuses rank counts that do
// not divide the 16 lanes. `die_rank`, `die_step` and `die_attempts` kill a rank at a step of the
// first attempts. `exit_code` ends the job at its first step. `late_once=1` hangs on the first
// start.

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

namespace fs = std::filesystem;

namespace {

constexpr int kLanes = 16;
constexpr int kExitStopped = 75;
constexpr int kExitConfig = 78;

volatile std::sig_atomic_t stop_requested = 0;
int crash_file = -1;

void on_stop(int) {
  stop_requested = 1;
}

// Handles CONT, which mpirun first sends to the peers of a dead rank. In a handler, write() is
// allowed, but most functions are not.
void on_peer_death(int) {
  static constexpr char text[] = "a peer died while this rank was in a collective\n";
  [[maybe_unused]] const ssize_t written = ::write(crash_file, text, sizeof text - 1);
}

struct Job {
  std::map<std::string, std::string> keys;
  int num_resume = 0;  // number of options about resuming
  fs::path run_directory;
  int rank = 0;
  int num_ranks = 1;
  int attempt = 1;

  long key(const std::string& name, long otherwise) const {
    const auto found = keys.find(name);
    return found == keys.end() ? otherwise : std::strtol(found->second.c_str(), nullptr, 10);
  }
};

struct State {
  std::int64_t step = 0;
  std::array<std::uint64_t, kLanes>
      lanes{};  // zero is a valid start, because each step mixes in its number
};

// SplitMix64's finalizer (Steele, Lea, Flood 2014, figure 19).
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

void read_conf(const std::string& path, Job& job) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (colon != std::string::npos && line[0] != '#') {
      job.keys[line.substr(0, colon)] = line.substr(colon + 1);
    }
  }
}

Job read_arguments(int argc, char** argv) {
  Job job;
  std::string output = "outputs";
  std::string name = "stand_in";
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.starts_with("--resume") || argument.starts_with("run.resume=")) {
      ++job.num_resume;
    } else if (argument == "--output" && i + 1 < argc) {
      output = argv[++i];
    } else if (argument == "--name" && i + 1 < argc) {
      name = argv[++i];
    } else if (const auto equals = argument.find('='); equals == std::string::npos) {
      read_conf(argument, job);
    } else {
      job.keys[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
  }
  job.run_directory = fs::path(output) / name / "run";
  return job;
}

fs::path ledger(const Job& job, int attempt) {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "attempt_%04d.rank_0000.ledger", attempt);
  return job.run_directory / "parts" / name.data();
}

// Returns the last complete record of all attempts. Ignores an incomplete record at the end of a
// file. Sets job.attempt to the number of the new attempt.
State recover(Job& job) {
  State state;
  while (fs::exists(ledger(job, job.attempt))) {
    std::ifstream in(ledger(job, job.attempt++));
    for (State next; in >> std::dec >> next.step;) {
      for (auto& lane : next.lanes) {
        in >> std::hex >> lane;
      }
      std::string end;
      if (in >> end && end == "." && next.step > state.step) {
        state = next;
      }
    }
  }
  return state;
}

void journal(std::FILE* file, const State& state) {
  std::fprintf(file, "%lld", static_cast<long long>(state.step));
  for (const auto lane : state.lanes) {
    std::fprintf(file, " %016llx", static_cast<unsigned long long>(lane));
  }
  std::fputs(" .\n", file);
  std::fflush(file);
  ::fdatasync(::fileno(file));
}

void fail_if_asked(const Job& job, const State& state) {
  if (job.keys.contains("exit_code")) {
    std::exit(static_cast<int>(job.key("exit_code", 0)));
  }
  if (job.rank == job.key("die_rank", -1) && state.step == job.key("die_step", -1) &&
      job.attempt <= job.key("die_attempts", 1)) {
    std::raise(SIGKILL);
  }
}

// Runs one step of every lane, each on one rank. Returns true if any rank was asked to stop.
bool advance(const Job& job, State& state) {
  std::array<std::uint64_t, kLanes + 1> sum{};
  for (int lane = job.rank; lane < kLanes; lane += job.num_ranks) {
    const auto l = static_cast<std::size_t>(lane);
    sum[l] = mix(state.lanes[l] + static_cast<std::uint64_t>(state.step * kLanes + lane + 1));
  }
  sum[kLanes] = stop_requested != 0 ? 1 : 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(job.key("step_ms", 0)));
  MPI_Allreduce(MPI_IN_PLACE, sum.data(), kLanes + 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  std::copy_n(sum.begin(), kLanes, state.lanes.begin());
  ++state.step;
  return sum[kLanes] != 0;
}

int run(const Job& job, State state) {
  const std::int64_t steps = job.key("steps", 10);
  std::FILE* file = job.rank == 0 ? std::fopen(ledger(job, job.attempt).c_str(), "w") : nullptr;
  while (state.step < steps) {
    fail_if_asked(job, state);
    const bool stop = advance(job, state);
    if (file != nullptr) {
      journal(file, state);
    }
    if (stop && state.step < steps) {
      if (job.rank == 0) {
        std::printf("stopped at step %lld\n", static_cast<long long>(state.step));
      }
      return kExitStopped;
    }
  }
  if (job.rank == 0) {
    journal(std::fopen((job.run_directory / "results.txt").c_str(), "w"), state);
    std::printf("finished %lld steps\n", static_cast<long long>(steps));
  }
  return 0;
}

int begin(Job& job) {
  if (job.num_resume > 1) {
    if (job.rank == 0) std::fprintf(stderr, "run.resume is given twice\n");
    return kExitConfig;
  }
  if (job.key("divide", 0) != 0 && kLanes % job.num_ranks != 0) {
    if (job.rank == 0) {
      std::fprintf(stderr, "%d ranks do not divide %d lanes\n", job.num_ranks, kLanes);
    }
    return kExitConfig;
  }
  State state;
  if (job.rank == 0) {
    fs::create_directories(job.run_directory / "parts");
    fs::create_directories(job.run_directory / "crash");
    state = recover(job);
    std::printf("run directory  %s\nattempt %d: %d ranks from step %lld\n",
                fs::absolute(job.run_directory).c_str(), job.attempt, job.num_ranks,
                static_cast<long long>(state.step));
    std::fflush(stdout);
  }
  MPI_Bcast(&state, sizeof state, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Bcast(&job.attempt, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const auto crash = job.run_directory / "crash" / ("rank_" + std::to_string(job.rank) + ".txt");
  crash_file = ::open(crash.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
  std::signal(SIGCONT, on_peer_death);
  return run(job, state);
}

/// Imitates a lost message of the launcher: one rank does not arrive.
void be_late_once(const Job& job) {
  const char* rank = std::getenv("PMIX_RANK");
  const fs::path mark = job.run_directory / "was_late";
  if (rank == nullptr || std::string(rank) != "1" || job.key("late_once", 0) == 0) return;
  if (fs::exists(mark)) return;
  fs::create_directories(job.run_directory);
  std::ofstream(mark).close();
  std::this_thread::sleep_for(std::chrono::hours(1));
}

/// Handles the stop signals, which launchers block before they start the program. Then tells the
/// launcher that this process can receive them.
void hear_stops() {
  std::signal(SIGUSR1, on_stop);
  std::signal(SIGTERM, on_stop);
  sigset_t stops;
  sigemptyset(&stops);
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM, SIGINT})
    sigaddset(&stops, signal);
  pthread_sigmask(SIG_UNBLOCK, &stops, nullptr);
  if (const char* begun = std::getenv("MGPU_BEGUN")) std::ofstream(begun) << "";
}

}  // namespace

int main(int argc, char** argv) {
  hear_stops();
  Job job = read_arguments(argc, argv);
  be_late_once(job);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.num_ranks);
  const int code = begin(job);
  MPI_Finalize();
  return code;
}
