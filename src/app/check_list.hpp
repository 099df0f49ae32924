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

/// The lines of --check, printed by rank 0 as they come.
class CheckList {
public:
  CheckList(const cluster::Group& world, const Options& options, std::ostream& out);

  /// Runs a check on all ranks. If it throws, the check failed, and the failure is shown below its
  /// line. Returns whether it did not fail.
  ///
  /// Ranks:  collective; `check` throws on all ranks or on none.
  bool run(const std::string& area, const std::string& what, const std::function<Finding()>& check);

  /// Prints the total. Returns the code of the first failure. Ranks: collective.
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
