#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

#include <mgpu/app/commands.hpp>
#include <mgpu/app/process_time.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/app/run_world.hpp>
#include <mgpu/base/soft_stop.hpp>
#include <mgpu/cluster/mpi_session.hpp>
#include <mgpu/config/config_problem.hpp>
#include <mgpu/report/error_colors.hpp>
#include <mgpu/report/terminal.hpp>
#include <mgpu/store/results/file_inspection.hpp>

namespace {

using namespace mgpu;  // NOLINT(google-build-using-namespace): the program's own entry

/// Prints a failure to stderr, in color if `options.color` and the terminal allow color. If `error`
/// only says that the run was already finished, prints to stdout instead, because a finished run is
/// not a failure.
void print_failure(const std::exception& error, const app::Options& options) {
  const ErrorReport report = report_of(error);
  if (report.code.empty()) {
    std::printf("%s\n%s\nmgpu_spmd: finished before, exit %d\n", report.sentence.c_str(),
                report.lines.front().c_str(), static_cast<int>(report.exit));
    return;
  }
  std::string text = render(report);
  if (report::probe_terminal(report::color_mode_of(options.color)).color)
    text = report::color_error(text);
  std::fprintf(stderr, "%s\nmgpu_spmd: failed %s, exit %d\n", text.c_str(), report.code.c_str(),
               static_cast<int>(report.exit));
}

/// Prints a failure that occurred before MPI was initialized, and returns the exit code. Only the
/// first rank prints, because such a failure usually occurs on all ranks. The others wait before
/// they exit, because mpirun kills all ranks once one of them has exited, and the first rank may
/// start late.
ExitCode fail_alone(const std::exception& error, const app::Options& options) {
  if (app::is_later_rank()) {
    std::this_thread::sleep_for(std::chrono::seconds(10));
  } else {
    print_failure(error, options);
  }
  return report_of(error).exit;
}

/// Runs the action that needs MPI: --check, --merge, or a run. After a CollectiveFailure or a
/// ConfigFailure, which all ranks throw, each rank returns the exit code. A rank on which another
/// exception is thrown aborts all ranks.
ExitCode run(const app::Options& options, const std::vector<std::string>& command) {
  const cluster::MpiSession session;
  const cluster::Group world = cluster::Group::world();
  try {
    if (options.action == app::Action::check) return app::run_checks(world, options, std::cout);
    if (options.action == app::Action::merge) return app::merge_run(world, options);
    return app::run_world(world, options, command, app::process_elapsed_s());
  } catch (const cluster::CollectiveFailure& error) {
    if (world.rank() == 0) print_failure(error, options);
    return error.exit_code();
  } catch (const ConfigFailure& error) {
    if (world.rank() == 0) print_failure(error, options);
    return error.exit_code();
  } catch (const std::exception& error) {
    print_failure(error, options);
    cluster::abort_world(report_of(error).exit);
  }
}

/// Restores the normal effect of stop signals, which is to end the process. A signal that has
/// already arrived takes effect now. Only a run handles these signals, because only a run can save
/// its work before it ends.
void give_back(std::optional<StopSignals>& signals) {
  signals.reset();
  if (const int signal = StopSignals::received(); signal != 0) std::raise(signal);
}

// Option with which this program starts itself to inspect a result file; see inspector().
constexpr const char* kInspectFile = "--inspect-file";

/// Returns the command that inspects a result file in another process: mgpu_inspect of the build,
/// or this program if it was copied to a machine without the build.
std::vector<std::string> inspector() {
  if (::access(MGPU_INSPECT, X_OK) == 0) return {MGPU_INSPECT};
  return {"/proc/self/exe", kInspectFile};
}

/// Runs the program with the arguments of main(), and returns its exit code.
ExitCode run_program(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == kInspectFile)
    return static_cast<ExitCode>(store::inspect_file_as_process(argv[2]));
  store::set_inspector(inspector());
  std::optional<StopSignals> signals(std::in_place);
  std::signal(SIGPIPE, SIG_IGN);  // the run continues if the reader of its output exits
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` fails with EFBIG, which is reported
  app::Options options;
  try {
    options = app::parse_command_line(argc, argv, app::program_keys());
    if (options.action != app::Action::run) give_back(signals);
    if (const auto code = app::answer_without_mpi(options, std::cout)) return *code;
    cluster::check_launch();
  } catch (const std::exception& error) {
    return fail_alone(error, options);
  }
  try {
    return run(options, {argv, argv + argc});
  } catch (const std::exception& error) {
    print_failure(error, options);
    return report_of(error).exit;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const ExitCode code = run_program(argc, argv);
  const char* is_quick = std::getenv("MGPU_QUICK_EXIT");
  if (is_quick == nullptr || std::string_view(is_quick) != "1") return static_cast<int>(code);
  // MGPU_QUICK_EXIT=1 skips the destructors of global objects, which take 0.1 s in libtorch. Tests
  // set it, because they start thousands of processes. Profilers need the normal exit.
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(static_cast<int>(code));
}
