#include "process_info.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include <mgpu/base/file_io.hpp>
#include <mgpu/watch/watchdog.hpp>

namespace mgpu::watch {
namespace {

/// Reads at most 4 KiB of a file in /proc; returns "" if it is unreadable.
std::string read_proc(const std::string& path) {
  const FdHandle fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return "";
  std::array<char, 4096> text{};
  const ssize_t n = ::read(fd.get(), text.data(), text.size());
  return {text.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
}

std::string folder_of(int pid) {
  return "/proc/" + std::to_string(pid) + "/";
}

/// Returns the word of `text` at `index`, counted from 0.
std::string_view word(std::string_view text, int index) {
  for (; index > 0; --index) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return "";
    text.remove_prefix(space + 1);
  }
  return text.substr(0, text.find_first_of(" \n"));
}

/// Returns the line of /proc/[pid]/status that begins with `name`, or "".
std::string_view line_of(std::string_view status, std::string_view name) {
  while (!status.empty()) {
    const std::string_view line = status.substr(0, status.find('\n'));
    if (line.starts_with(name)) return line;
    status.remove_prefix(std::min(line.size() + 1, status.size()));
  }
  return "";
}

std::string_view name_of(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "waiting for a disk or a device";
    case 'T':
      return "stopped";
    case 't':
      return "held by a debugger";
    case 'Z':
    case 'X':
      return "dead";
    default:
      return "unknown";
  }
}

}  // namespace

std::optional<ProcessInfo> process_info(int pid) {
  const std::string text = read_proc(folder_of(pid) + "stat");
  const std::size_t name_end = text.rfind(')');  // the process name may contain blanks and brackets
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return std::nullopt;
  const std::string_view rest = std::string_view(text).substr(name_end + 2);
  ProcessInfo info;
  info.state = rest.front();
  constexpr int kStartTime = 22 - 3;  // starttime is field 22; `rest` begins with field 3
  const std::string_view ticks = word(rest, kStartTime);
  std::from_chars(ticks.data(), ticks.data() + ticks.size(), info.start_time);
  return info;
}

bool is_debugged() {
  const std::string status = read_proc("/proc/self/status");
  const std::string_view line = line_of(status, "TracerPid:");
  return !line.empty() && line.substr(line.find_last_of("\t ") + 1) != "0";
}

std::string kernel_words(int pid) {
  const std::optional<ProcessInfo> info = process_info(pid);
  if (!info) return "gone";
  std::string text(name_of(info->state));
  text.append(" (state ").append(1, info->state).append(")");
  const std::string where = read_proc(folder_of(pid) + "wchan");
  if (!where.empty() && where != "0") text.append(", in ").append(where);
  return text;
}

std::string kernel_report(int pid) {
  std::string text;
  const std::string status = read_proc(folder_of(pid) + "status");
  for (const char* name : {"State:", "Threads:", "VmRSS:", "SigPnd:", "voluntary_ctxt_switches:",
                           "nonvoluntary_ctxt_switches:"}) {
    const std::string_view line = line_of(status, name);
    if (!line.empty()) text.append("  ").append(line).append("\n");
  }
  for (const char* name : {"wchan", "syscall", "stack"}) {
    const std::string found = read_proc(folder_of(pid) + name);
    if (!found.empty()) text.append("  ").append(name).append(": ").append(found).append("\n");
  }
  return text;
}

}  // namespace mgpu::watch
