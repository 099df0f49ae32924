#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include <unistd.h>

#include <mgpu/base/death_note.hpp>
#include <mgpu/base/soft_stop.hpp>

#include "process_info.hpp"
#include "report_signal.hpp"
#include "watcher.hpp"

namespace mgpu::watch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kStep{10};
// Ranks that wait in MPI keep their cores busy, so writing a stack can take long on a full node.
constexpr milliseconds kStackPatience{600};    // longest wait until a thread has written its stack
constexpr milliseconds kReportPatience{1600};  // longest wait for the crash files of this node
constexpr milliseconds kReporterPatience{5000};
constexpr milliseconds kNodesPatience{2500};  // longest wait until the other nodes have read the
                                              // verdict; they check every second

/// Waits until `is_so` returns true, for at most `patience`. Returns the last result of `is_so`.
template <class Question>
bool wait_until(Question is_so, milliseconds patience) {
  for (milliseconds waited{0}; waited < patience; waited += kStep) {
    if (is_so()) return true;
    std::this_thread::sleep_for(kStep);
  }
  return is_so();
}

[[noreturn]] void leave() {
  ::_exit(static_cast<int>(ExitCode::ranks_lost));
}

/// Returns whether standard error is a terminal, which may show a progress line. If the environment
/// variable MGPU_TTY is set and not empty, its value decides instead. The value 0 means no, and all
/// other values mean yes.
bool is_on_terminal() {
  const char* told = std::getenv("MGPU_TTY");
  if (told == nullptr || *told == '\0') return ::isatty(STDERR_FILENO) == 1;
  return std::string_view(told) != "0";
}

void print(const ErrorReport& report) {
  std::string text = is_on_terminal() ? "\n" : "";
  text += render(report) + "\nmgpu_spmd: failed " + report.code + ", exit " +
          std::to_string(static_cast<int>(report.exit)) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

/// Returns the stack in a crash file, without the last events that follow it; "" if there is no
/// stack.
std::string stack_in(const fs::path& crash_file) {
  try {
    const std::string text = read_file(crash_file, std::uint64_t{1} << 20);
    const std::size_t begin = text.find("\n--- stack\n");
    const std::size_t end = text.find("\n--- last events");
    return begin == std::string::npos ? "" : text.substr(begin + 1, end - begin);
  } catch (const std::exception&) {
    return "";
  }
}

}  // namespace

void Watchdog::Watcher::report_death(int rank) {
  // A death note is a file that names the rank that died first. Then the rows of this rank count as
  // the cause of its death. In these cases, the rows are probably not the cause, and no note is
  // written:
  // - this rank has received a stop signal, which a launcher sends before it kills the ranks
  // - several ranks of this node are dead
  const auto is_dead = [&](int other) {
    return slot_of(other).presence == Presence::here && is_gone(other);
  };
  const bool is_alone = std::ranges::count_if(local_ranks(), is_dead) == 1;
  if (is_alone && StopSignals::received() == 0) note_death(rank, "unknown");
  report_and_leave(report_of_death(scene(), rank, crash_cause_of(rank)));
}

/// Writes the death note of a rank to the path that the rank has prepared. For a rank of another
/// node, this is the path of its node's last NodeFiles::publish(). If the rank has no path, the
/// note goes to the path of this rank.
void Watchdog::Watcher::note_death(int rank, const char* cause) const {
  const char* file = slot_of(rank).activity.death_note.get();
  if (*file == '\0') file = own().activity.death_note.get();
  write_death_note(file, rank, "watchdog", cause);
}

void Watchdog::Watcher::report_hang(const Culprit& culprit) {
  // With a death note, the rows that the rank worked on count as the cause of the hang. So the note
  // is written only if the rank hangs outside of communication calls. No note is written if the
  // process is suspended (SIGSTOP), or if the rank may be waiting for other ranks.
  if (culprit.sign == Sign::outside) note_death(culprit.rank, "hang");
  Scene scene = this->scene();
  const Slot& slot = slot_of(culprit.rank);
  const bool is_slow = scene.states[static_cast<std::size_t>(culprit.rank)].call() == nullptr &&
                       has_long_limit(slot);
  const double limit_s = is_slow ? options_.slow_limit_s : options_.limit_s;
  scene.longer = std::string(is_slow ? "watchdog.slow_limit_s=" : "watchdog.limit_s=") +
                 std::to_string(std::lround(10 * limit_s));
  report_and_leave(report_of_hang(scene, culprit));
}

void Watchdog::Watcher::report_and_leave(const ErrorReport& report) {
  Verdict& verdict = shared_->verdict();
  int none = Verdict::none;
  if (!verdict.state.compare_exchange_strong(none, Verdict::being_written)) follow_verdict();
  print(report);
  render(report).copy(verdict.text, Verdict::kTextBytes - 1);
  verdict.state = Verdict::published;
  if (nodes_) nodes_->publish(*shared_);
  write_report_file(report);
  write_crash_file();
  wait_for_local_reports();
  write_report_file(report);  // includes the stacks of this node
  if (nodes_) {
    wait_for_nodes();
    write_report_file(report);  // includes the stacks of all nodes
  }
  verdict.state = Verdict::over;  // other ranks may exit only from here on: soon after the first
                                  // exit, the launcher kills all ranks
  leave();
}

void Watchdog::Watcher::follow_verdict() {
  write_crash_file();
  wait_until([&] { return shared_->verdict().state == Verdict::over; }, kReporterPatience);
  leave();
}

/// Writes the crash file of this rank and waits for the crash files of the node's other ranks. Then
/// publishes the verdict in this node's file (NodeFiles), and ends the process. The node that found
/// the error waits in wait_for_nodes() until this file contains the verdict.
void Watchdog::Watcher::publish_reports() {
  write_crash_file();
  wait_for_local_reports();
  nodes_->publish(*shared_);
  shared_->verdict().state = Verdict::over;
  leave();
}

/// Writes the crash file with the stack of the main thread, because the verdict is about the work
/// of the main thread. If the main thread does not react, the watchdog's thread writes the file.
/// This function first makes the process ignore SIGTERM, because the launcher may send SIGTERM
/// before the file is written.
void Watchdog::Watcher::write_crash_file() {
  std::signal(SIGTERM, SIG_IGN);
  send_report_signal(main_thread_);
  const bool is_written = wait_until([] { return CrashFile::is_written(); }, kStackPatience);
  if (!is_written) crash_.write(shared_->verdict().text);
  own().has_reported = true;
}

void Watchdog::Watcher::wait_for_local_reports() const {
  const auto has_reported = [&](int rank) {
    const Slot& slot = slot_of(rank);
    return slot.presence != Presence::here || slot.has_reported || slot.process_state == 'T' ||
           is_gone(rank);
  };
  wait_until([&] { return std::ranges::all_of(local_ranks(), has_reported); }, kReportPatience);
}

void Watchdog::Watcher::wait_for_nodes() {
  std::vector<bool> knows(ranks_of_.size(), false);
  knows[static_cast<std::size_t>(node_)] = true;
  const auto is_known = [&] {
    for (std::size_t node = 0; node < knows.size(); ++node) {
      if (!knows[node]) {
        const auto update = nodes_->read(static_cast<int>(node), *shared_);
        knows[node] = update.is_new && update.verdict >= Verdict::published;
      }
    }
    return std::ranges::find(knows, false) == knows.end();
  };
  wait_until(is_known, kNodesPatience);
}

/// Writes hang_report.txt. The file contains the report, the state of all ranks, what the kernel
/// knows of this node's processes, and the stacks of the ranks that have reported.
void Watchdog::Watcher::write_report_file(const ErrorReport& report) const {
  try {
    const Scene scene = this->scene();
    std::ostringstream file;
    file << render(report) << "\n--- all ranks\n" << all_ranks(scene);
    for (int rank = 0; rank < static_cast<int>(places_.size()); ++rank) {
      const bool is_visible = std::ranges::find(visible_, rank) != visible_.end();
      std::array<char, 32> name{};
      std::snprintf(name.data(), name.size(), "rank_%02d.txt", rank);
      file << "--- process of rank " << rank << "\n";
      if (is_visible) file << kernel_report(slot_of(rank).pid);
      if (slot_of(rank).has_reported) file << stack_in(options_.directory / "crash" / name.data());
    }
    const fs::path prepared = options_.directory / ".hang_report.tmp";
    std::ofstream(prepared) << file.str();
    fs::rename(prepared, scene.report_file);
  } catch (const std::exception&) {  // such as a full disk: the message and the crash files do not
                                     // depend on this file
  }
}

std::string Watchdog::Watcher::crash_cause_of(int rank) const {
  try {
    for (const CrashReport& crash : crashes(options_.directory / "crash", start_unix_s_)) {
      if (crash.rank == rank) return crash.what.substr(0, crash.what.find('\n'));
    }
  } catch (const std::exception&) {  // the crash files cannot be read: the cause stays unknown
  }
  return "";
}

}  // namespace mgpu::watch
