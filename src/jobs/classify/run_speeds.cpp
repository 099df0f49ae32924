#include "run_speeds.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;
using formats::JsonValue;

constexpr std::size_t kMaxFolders = 200;
constexpr std::uint64_t kMaxBytes = std::uint64_t{8} << 20;

/// Returns the folders that lie in the parent folder of `run_directory` and have a summary.json.
/// Leaves out `run_directory` and symbolic links. Returns at most kMaxFolders folders, the newest
/// first. Names of run folders are times, so sorting by name sorts by age.
std::vector<fs::path> folders_beside(const fs::path& run_directory) {
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(run_directory.parent_path(), error), end;
       !error && entry != end; entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.filename() == run_directory.filename() || fs::is_symlink(path, error)) continue;
    if (fs::is_regular_file(path / "summary.json", error)) folders.push_back(path);
  }
  std::ranges::sort(folders, std::greater<>());
  folders.resize(std::min(folders.size(), kMaxFolders));
  return folders;
}

bool is(const JsonValue& summary, const char* name, const std::string& text) {
  const JsonValue* member = summary.find(name);
  return member != nullptr && member->text() != nullptr && *member->text() == text;
}

/// Returns the first number of series `name` in summary.json; nullopt if there is no such number.
std::optional<double> number(const JsonValue& summary, const char* name) {
  const JsonValue* series = summary.find("series");
  const JsonValue* list = series != nullptr ? series->find(name) : nullptr;
  if (list == nullptr || list->list() == nullptr || list->list()->empty()) return std::nullopt;
  const JsonValue& value = list->list()->front();
  if (value.real() != nullptr) return *value.real();
  if (value.integer() != nullptr) return static_cast<double>(*value.integer());
  return std::nullopt;
}

std::optional<ClassifyPlots::RunSpeed> speed_of(const JsonValue& summary, const SpeedKind& kind) {
  if (!is(summary, "job", "classify") || !is(summary, "host", kind.host) ||
      !is(summary, "device", kind.device))
    return std::nullopt;
  if (number(summary, "speed/run_key") != static_cast<double>(kind.key)) return std::nullopt;
  const auto ranks = number(summary, "speed/ranks");
  const auto of_copy = number(summary, "speed/ranks_of_copy");
  const auto batch = number(summary, "speed/batch");
  const auto speed = number(summary, "speed/samples_per_second");
  if (!ranks || !of_copy || !batch || !speed) return std::nullopt;
  const auto is_count = [](double value) { return value >= 1.0 && value <= 1e9; };
  if (!is_count(*ranks) || !is_count(*of_copy) || !is_count(*batch)) return std::nullopt;
  if (!std::isfinite(*speed) || *speed <= 0.0) return std::nullopt;
  return ClassifyPlots::RunSpeed{std::llround(*ranks), std::llround(*of_copy), std::llround(*batch),
                                 *speed, false};
}

std::optional<ClassifyPlots::RunSpeed> read_speed(const fs::path& folder, const SpeedKind& kind) {
  try {
    return speed_of(formats::read_json_object(folder / "summary.json", kMaxBytes), kind);
  } catch (const Failure&) {
    return std::nullopt;  // summary.json is missing or unreadable
  }
}

}  // namespace

std::vector<ClassifyPlots::RunSpeed> speeds_of_other_runs(const fs::path& run_directory,
                                                          const SpeedKind& kind) {
  std::vector<ClassifyPlots::RunSpeed> runs;
  for (const fs::path& folder : folders_beside(run_directory)) {
    mark_progress();
    const auto run = read_speed(folder, kind);
    if (!run) continue;
    const bool is_known = std::ranges::any_of(runs, [&](const auto& other) {
      return other.ranks == run->ranks && other.ranks_of_copy == run->ranks_of_copy &&
             other.batch == run->batch;
    });
    if (!is_known) runs.push_back(*run);
  }
  return runs;
}

}  // namespace mgpu::jobs
