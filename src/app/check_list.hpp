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

/// The finding of a check that did not fail.
struct Finding {
  std::string detail;
  report::Verdict verdict = report::Verdict::pass;
};

/// Runs the checks of --check. Rank 0 prints the line of each check when it ends.
class CheckList {
public:
  CheckList(const cluster::Group& world, const Options& options, std::ostream& out);

  /// Runs a check on all ranks. If it throws a Failure, the check failed, and the failure is shown
  /// below its line. Returns whether the check passed or only warned.
  ///
  /// Ranks:  collective; `check` throws on all ranks or on none.
  bool run(const std::string& area, const std::string& what, const std::function<Finding()>& check);

  /// Prints the total. Returns the exit code of the first check that failed, or `done`. Ranks:
  /// collective.
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
