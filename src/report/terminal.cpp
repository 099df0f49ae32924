#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/report/terminal.hpp>

namespace mgpu::report {
namespace {

// Number of ancestors of this process that are searched for the launcher, as in mpirun -> shell
// wrapper -> numactl -> program.
constexpr int kMaxAncestors = 4;

/// Returns whether `name` is the name of an MPI launcher: one of Open MPI 4 or 5, or of another
/// MPI.
bool is_launcher(std::string_view name) {
  static constexpr std::array<std::string_view, 6> kNames = {"mpirun",  "mpiexec", "orterun",
                                                             "prterun", "prun",    "mpiexec.hydra"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

/// Returns whether `name` is a daemon that starts ranks on other nodes. If such a daemon started
/// this rank, the user's screen is not on this node.
bool is_remote_daemon(std::string_view name) {
  static constexpr std::array<std::string_view, 4> kNames = {"orted", "prted", "slurmstepd",
                                                             "hydra_pmi_proxy"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

struct Process {
  std::string name;
  int parent = 0;
};

std::optional<Process> read_process(const fs::path& proc, int pid) {
  std::ifstream status(proc / std::to_string(pid) / "status");
  Process process;
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("Name:\t")) process.name = line.substr(6);
    if (line.starts_with("PPid:\t")) process.parent = std::atoi(line.c_str() + 6);
  }
  if (process.name.empty()) return std::nullopt;
  return process;
}

struct Streams {
  bool out = false;
  bool err = false;
  fs::path err_path{};  // device of stderr, for its width
};

Streams streams_of_launcher(const TerminalSource& source, int pid) {
  const fs::path folder = source.proc / std::to_string(pid) / "fd";
  std::error_code ignored;
  const fs::path out = fs::read_symlink(folder / "1", ignored);
  const fs::path err = fs::read_symlink(folder / "2", ignored);
  const auto is_screen = [&](const fs::path& path) {
    return path.string().starts_with("/dev/") && source.is_terminal_path(path);
  };
  return {is_screen(out), is_screen(err), err};
}

Streams find_streams(const TerminalSource& source) {
  int pid = source.parent > 0 ? source.parent : static_cast<int>(getppid());
  for (int level = 0; level < kMaxAncestors && pid > 1; ++level) {
    const std::optional<Process> process = read_process(source.proc, pid);
    if (!process) break;
    if (is_launcher(process->name)) return streams_of_launcher(source, pid);
    if (is_remote_daemon(process->name)) return {};
    pid = process->parent;
  }
  return {source.is_terminal(STDOUT_FILENO), source.is_terminal(STDERR_FILENO), "/dev/tty"};
}

int number_or(std::string_view text, int otherwise) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && value > 0 ? value : otherwise;
}

bool wants_utf8(const TerminalSource& source) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value = source.variable(name);
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return value.find("UTF-8") != std::string::npos || value.find("UTF8") != std::string::npos;
  }
  return false;
}

bool wants_color(ColorMode mode, bool screen, const TerminalSource& source) {
  if (mode != ColorMode::automatic) return mode == ColorMode::always;
  if (!source.variable("NO_COLOR").empty()) return false;
  if (!source.variable("FORCE_COLOR").empty()) return source.variable("FORCE_COLOR") != "0";
  return screen;
}

FdHandle open_device(const fs::path& path) {
  return FdHandle(::open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
}

}  // namespace

TerminalSource TerminalSource::real() {
  TerminalSource source;
  source.variable = [](const std::string& name) {
    const char* value = std::getenv(name.c_str());
    return std::string(value == nullptr ? "" : value);
  };
  source.is_terminal = [](int fd) { return ::isatty(fd) == 1; };
  source.is_terminal_path = [](const fs::path& path) {
    const FdHandle fd = open_device(path);
    return fd && ::isatty(fd.get()) == 1;
  };
  source.columns_of = [](const fs::path& path) {
    const FdHandle fd = open_device(path);
    struct winsize size {};
    if (!fd || ::ioctl(fd.get(), TIOCGWINSZ, &size) != 0) return 0;
    return static_cast<int>(size.ws_col);
  };
  return source;
}

Terminal probe_terminal(ColorMode color, const TerminalSource& source) {
  const Streams streams = find_streams(source);
  const std::string told = source.variable("MGPU_TTY");
  const bool dumb = source.variable("TERM") == "dumb";
  Terminal terminal;
  terminal.is_screen = !dumb && (told.empty() ? streams.err : told != "0");
  terminal.stdout_is_screen = streams.out;
  const int seen = streams.err ? source.columns_of(streams.err_path) : 0;
  terminal.columns = number_or(source.variable("MGPU_COLUMNS"), seen > 0 ? seen : 80);
  terminal.color = wants_color(color, terminal.is_screen, source);
  terminal.utf8 = wants_utf8(source);
  return terminal;
}

ProgressMode choose_progress(ProgressMode asked, const Terminal& terminal) {
  if (asked != ProgressMode::automatic) return asked;
  return terminal.is_screen ? ProgressMode::bar : ProgressMode::lines;
}

ProgressMode progress_mode_of(std::string_view word) {
  if (word == "auto") return ProgressMode::automatic;
  if (word == "bar") return ProgressMode::bar;
  if (word == "lines") return ProgressMode::lines;
  if (word == "off") return ProgressMode::off;
  throw Error("no progress mode is called " + std::string(word));
}

ColorMode color_mode_of(std::string_view word) {
  if (word == "auto") return ColorMode::automatic;
  if (word == "always") return ColorMode::always;
  if (word == "never") return ColorMode::never;
  throw Error("no color mode is called " + std::string(word));
}

}  // namespace mgpu::report
