#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/config/check_together.hpp>
#include <mgpu/config/config.hpp>

namespace mgpu {
namespace {

Report fold(const std::vector<Report>& reports) {
  if (reports.empty()) throw Error("FailuresTogether needs a report");
  Report all = reports.front();
  if (reports.size() > 1 && !all.help.empty())
    all.lines.push_back("  = help: " + std::exchange(all.help, ""));
  for (std::size_t i = 1; i < reports.size(); ++i) {
    all.lines.emplace_back();
    all.lines.push_back(render(reports[i]));
  }
  return all;
}

}  // namespace

FailuresTogether::FailuresTogether(std::vector<Report> reports)
    : Failure(fold(reports)), reports_(std::move(reports)) {}

void check_together(std::initializer_list<std::function<void()>> checks) {
  std::vector<Report> reports;
  std::optional<RefusedKey> unknown;
  for (const auto& check : checks) {
    try {
      check();
    } catch (const FailuresTogether& failures) {
      reports.insert(reports.end(), failures.reports().begin(), failures.reports().end());
    } catch (const Failure& failure) {
      reports.push_back(failure.report());
    } catch (const RefusedKey& refused) {
      unknown = refused;
    }
  }
  if (reports.size() > 1) throw FailuresTogether(std::move(reports));
  if (!reports.empty()) throw Failure(std::move(reports.front()));
  if (unknown) throw RefusedKey(*unknown);
}

}  // namespace mgpu
