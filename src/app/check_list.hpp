#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <mgpu/app/cli.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/report/check_lines.hpp>

namespace mgpu::app {

/// The result of a check that did not fail: passed, warned or skipped.
struct Finding {
  std::string detail;
  report::Verdict verdict = report::Verdict::pass;
};

/// Runs the checks of --check. Rank 0 prints a line for each check when the check ends. With
/// --json, finish() prints all checks instead.
class CheckList {
public:
  CheckList(const cluster::Group& world, const Options& options, std::ostream& out);

  /// Runs `check` on all ranks. If `check` throws a Failure, the check has failed. Without --json,
  /// rank 0 then prints the error report below the line of the check. Returns false if the check
  /// has failed, else true.
  ///
  /// Ranks:  collective over the world. `check` must throw on all ranks or on no rank.
  bool run(const std::string& area, const std::string& what, const std::function<Finding()>& check);

  /// Prints how many checks passed, failed, warned and were skipped. With --json, prints all checks
  /// instead. Returns the exit code of the first check that failed; `done` if no check failed.
  /// Ranks:  collective over the world.
  ExitCode finish();

private:
  void show(const report::Check& check, const std::string& below);

  const cluster::Group& world_;
  std::ostream& out_;
  bool json_;
  bool color_;
  double begin_s_;
  ExitCode exit_ = ExitCode::done;
  std::vector<report::Check> checks_;
};

}  // namespace mgpu::app
