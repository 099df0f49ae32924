#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <mgpu/base/file_io.hpp>

namespace mgpu::report {

enum class ProgressMode { automatic, bar, lines, off };
enum class ColorMode { automatic, always, never };

/// What the user's screen can show. Under mpirun the ranks' own descriptors lie about it.
struct Terminal {
  bool is_screen = false;         // stderr of the launcher is a terminal that moves its cursor
  bool stdout_is_screen = false;  // and so is its stdout
  int columns = 80;
  bool color = false;
  bool utf8 = false;

  friend bool operator==(const Terminal&, const Terminal&) = default;
};

/// Where probe_terminal() looks; the defaults are the real places, tests give others.
struct TerminalSource {
  std::function<std::string(const std::string&)> variable;  // environment, "" when unset
  fs::path proc = "/proc";
  int parent = 0;                                         // 0: getppid()
  std::function<bool(int)> is_terminal;                   // one of this process's descriptors
  std::function<bool(const fs::path&)> is_terminal_path;  // of a device file
  std::function<int(const fs::path&)> columns_of;         // 0 when unknown

  static TerminalSource real();
};

/// Looks at the launcher that is among this process's ancestors (mpirun, mpiexec, orterun,
/// prterun), because Open MPI gives every rank a terminal as stdout and a pipe as stderr; at the
/// own descriptors when there is none; and not at all under srun or on another node. MGPU_TTY and
/// MGPU_COLUMNS overrule, TERM=dumb is no screen, NO_COLOR and FORCE_COLOR decide on color.
Terminal probe_terminal(ColorMode color, const TerminalSource& source = TerminalSource::real());

/// `automatic` becomes a bar on a screen and lines elsewhere.
ProgressMode choose_progress(ProgressMode asked, const Terminal& terminal);

/// "auto", "bar", "lines", "off". Errors: Error for another word.
ProgressMode progress_mode_of(std::string_view word);
/// "auto", "always", "never". Errors: Error for another word.
ColorMode color_mode_of(std::string_view word);

}  // namespace mgpu::report
