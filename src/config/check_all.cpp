#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/config/check_all.hpp>
#include <mgpu/config/config.hpp>

namespace mgpu {
namespace {

ErrorReport fold(const std::vector<ErrorReport>& reports) {
  if (reports.empty()) throw Error("CombinedFailure needs a report");
  ErrorReport all = reports.front();
  if (reports.size() > 1 && !all.help.empty())
    all.lines.push_back("  = help: " + std::exchange(all.help, ""));
  for (std::size_t i = 1; i < reports.size(); ++i) {
    all.lines.emplace_back();
    all.lines.push_back(render(reports[i]));
  }
  return all;
}

}  // namespace

CombinedFailure::CombinedFailure(std::vector<ErrorReport> reports)
    : Failure(fold(reports)), reports_(std::move(reports)) {}

void check_all(std::initializer_list<std::function<void()>> checks) {
  std::vector<ErrorReport> reports;
  std::optional<RefusedKey> unknown;
  for (const auto& check : checks) {
    try {
      check();
    } catch (const CombinedFailure& failures) {
      reports.insert(reports.end(), failures.reports().begin(), failures.reports().end());
    } catch (const Failure& failure) {
      reports.push_back(failure.report());
    } catch (const RefusedKey& refused) {
      unknown = refused;
    }
  }
  if (reports.size() > 1) throw CombinedFailure(std::move(reports));
  if (!reports.empty()) throw Failure(std::move(reports.front()));
  if (unknown) throw RefusedKey(*unknown);
}

}  // namespace mgpu
