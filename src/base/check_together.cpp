#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/check_together.hpp>
#include <mgpu/base/error.hpp>

namespace mgpu {

void check_together(std::initializer_list<std::function<void()>> checks) {
  std::vector<Report> reports;
  for (const auto& check : checks) {
    try {
      check();
    } catch (const Failure& failure) {
      reports.push_back(failure.report());
    }
  }
  if (reports.empty()) return;
  Report all = std::move(reports.front());
  for (std::size_t i = 1; i < reports.size(); ++i) {
    if (i == 1 && !all.help.empty())
      all.lines.push_back("  = help: " + std::exchange(all.help, ""));
    all.lines.emplace_back();
    all.lines.push_back(render(reports[i]));
  }
  throw Failure(std::move(all));
}

}  // namespace mgpu
