#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <mgpu/base/file_io.hpp>

namespace mgpu::report {

enum class ProgressMode { automatic, bar, lines, off };
enum class ColorMode { automatic, always, never };

/// The abilities of the user's screen. Under mpirun, a rank's own stdout and stderr do not reveal
/// these abilities; see probe_terminal().
struct Terminal {
  bool is_screen = false;         // launcher's stderr is a terminal with a movable cursor
  bool stdout_is_screen = false;  // launcher's stdout is a terminal
  int columns = 80;
  bool color = false;
  bool utf8 = false;

  friend bool operator==(const Terminal&, const Terminal&) = default;
};

/// The functions and paths that probe_terminal() uses to examine the system. real() returns those
/// of the real system. Tests replace them.
struct TerminalSource {
  std::function<std::string(const std::string&)> variable;  // getenv(); "": not set
  fs::path proc = "/proc";
  int parent = 0;                                         // process id of the parent; 0: getppid()
  std::function<bool(int)> is_terminal;                   // takes a descriptor of this process
  std::function<bool(const fs::path&)> is_terminal_path;  // takes the path of a device file
  std::function<int(const fs::path&)> columns_of;  // returns the columns of a terminal; 0: unknown

  static TerminalSource real();
};

/// Finds out what the user's screen can do. It looks at stdout and stderr of the launcher, such as
/// mpirun, among the ancestors of this process. The descriptors of a rank mislead: Open MPI gives
/// every rank a terminal as stdout and a pipe as stderr. The rank looks at its own descriptors only
/// if there is no launcher. Under srun or on another node, it looks at no descriptors. MGPU_TTY
/// overrides Terminal::is_screen, and MGPU_COLUMNS overrides Terminal::columns. With TERM=dumb,
/// is_screen is false in any case. If `color` is automatic, NO_COLOR and FORCE_COLOR decide on
/// color. If neither variable is set, color is true on a screen only.
Terminal probe_terminal(ColorMode color, const TerminalSource& source = TerminalSource::real());

/// Returns `asked`, but replaces `automatic` by `bar` on a screen and by `lines` elsewhere.
ProgressMode choose_progress(ProgressMode asked, const Terminal& terminal);

/// Reads "auto", "bar", "lines" or "off". Errors: Error for another word.
ProgressMode progress_mode_of(std::string_view word);
/// Reads "auto", "always" or "never". Errors: Error for another word.
ColorMode color_mode_of(std::string_view word);

}  // namespace mgpu::report
