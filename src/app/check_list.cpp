#include "check_list.hpp"

#include <chrono>

#include <mgpu/report/terminal.hpp>

namespace mgpu::app {
namespace {

double now_s() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

}  // namespace

CheckList::CheckList(const cluster::Group& world, const Options& options, std::ostream& out)
    : world_(world),
      out_(out),
      json_(options.json),
      color_(report::probe_terminal(report::color_mode_of(options.color)).color),
      begin_s_(now_s()) {}

bool CheckList::run(const std::string& area, const std::string& what,
                    const std::function<Finding()>& check) {
  report::Check line{area, what};
  std::string below;
  try {
    const Finding finding = check();
    line.verdict = finding.verdict;
    line.detail = finding.detail;
  } catch (const Failure& failure) {
    line.verdict = report::Verdict::fail;
    line.detail = failure.report().sentence;
    below = render(failure.report()) + "\n";
    if (exit_ == ExitCode::done) exit_ = failure.exit_code();
  }
  show(line, below);
  checks_.push_back(line);
  return line.verdict != report::Verdict::fail;
}

ExitCode CheckList::finish() {
  if (world_.rank() == 0) {
    if (json_) {
      out_ << report::checks_json(checks_);
    } else {
      out_ << report::check_total(checks_, now_s() - begin_s_) << "\n";
    }
    out_.flush();
  }
  return static_cast<ExitCode>(
      world_.all_reduce(static_cast<std::int32_t>(exit_), cluster::ReduceOp::max));
}

void CheckList::show(const report::Check& check, const std::string& below) {
  if (world_.rank() != 0 || json_) return;
  out_ << report::check_line(check, color_) << "\n" << below << std::flush;
}

}  // namespace mgpu::app
