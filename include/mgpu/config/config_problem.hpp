#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/error.hpp>

namespace mgpu {

/// Where a value was given: a file and its line, the command line, or nowhere (the default).
struct Place {
  std::string origin{};  // "conf/train.yaml", "command line, argument 3", or "" for the default
  int line = 0;          // number of the line, from 1; 0: no line
  int column = 0;        // first character of the value in the line, from 1
  std::string text{};    // the line or argument; of a long line, the part around the value
  int length = 1;        // how many characters the carets mark
  int cut = 0;           // characters of the line that `text` leaves out at its start
};

/// Makes the Place of `length` characters of `line_text`, which begin at `column`. If the line is
/// long, the Place keeps only the part around these characters.
Place place_in_line(std::string origin, int line, std::string_view line_text, int column,
                    int length);

/// Returns "conf/train.yaml:27" or "command line, argument 3"; "default" if the value was not
/// given.
std::string source_of(const Place& place);

/// One mistake in a configuration.
struct Problem {
  std::string code;      // "E101"
  std::string sentence;  // what is wrong, without a final period
  Place place{};         // without an origin, no place is shown
  std::string under{};   // text after the caret
  std::string help{};    // how to correct the mistake; "" for no help
  Place first{};         // E103: where the repeated key was given first, also shown
};

/// Makes the error report of a mistake (exit 78): the place, the line with a caret, and the help.
ErrorReport to_report(const Problem& problem);

/// Holds all mistakes of a configuration. Its text shows the first 40 mistakes and all broken
/// rules, then "5 errors in conf.yaml; nothing was started."
class ConfigFailure : public Failure {
public:
  /// The text shows the elements of `problems` in order, and then those of `rules`: the failures of
  /// rules about several keys. `problems` has at least one element.
  explicit ConfigFailure(std::vector<Problem> problems, ExitCode exit = ExitCode::config,
                         const std::vector<ErrorReport>& rules = {}, Where where = Where::here());

  const std::vector<Problem>& problems() const noexcept { return problems_; }

private:
  std::vector<Problem> problems_;
};

}  // namespace mgpu
