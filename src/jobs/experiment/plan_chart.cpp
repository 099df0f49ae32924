#include "plan_chart.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include <mgpu/report/text_format.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::size_t kChartColumns = 72;
constexpr std::size_t kMostLines = 16;

double end_of(const std::vector<SimulatedStage>& stages) {
  double end = 0.0;
  for (const SimulatedStage& stage : stages)
    end = std::max(end, stage.end_s);
  return end;
}

/// Returns a row of letters for each rank. `end` is the time at the right end of the rows. A stage
/// that takes time has at least one letter. If two stages have the same place in a row, the row
/// shows the stage with the higher index.
std::vector<std::string> rows_of(const std::vector<SimulatedStage>& stages, int ranks, double end) {
  std::vector<std::string> rows(static_cast<std::size_t>(ranks), std::string(kChartColumns, '.'));
  const auto column = [&](double time) {
    return static_cast<std::size_t>(time / end * static_cast<double>(kChartColumns));
  };
  for (std::size_t s = 0; s < stages.size(); ++s) {
    if (stages[s].end_s <= stages[s].begin_s) continue;
    const std::size_t first = std::min(column(stages[s].begin_s), kChartColumns - 1);
    const std::size_t last = std::max(column(stages[s].end_s), first + 1);
    for (const int rank : stages[s].members)
      rows[static_cast<std::size_t>(rank)].replace(first, last - first, last - first, letter_of(s));
  }
  return rows;
}

/// Joins equal rows. Returns each distinct row once, with the ranks that have this row. The rows
/// are in ascending order of their first ranks.
std::vector<std::pair<std::vector<int>, std::string>> joined(const std::vector<std::string>& rows) {
  std::vector<std::pair<std::vector<int>, std::string>> lines;
  for (std::size_t rank = 0; rank < rows.size(); ++rank) {
    const auto same =
        std::ranges::find_if(lines, [&](const auto& line) { return line.second == rows[rank]; });
    if (same == lines.end())
      lines.push_back({{static_cast<int>(rank)}, rows[rank]});
    else
      same->first.push_back(static_cast<int>(rank));
  }
  return lines;
}

}  // namespace

std::string plan_time(double seconds) {
  return seconds < 60.0 ? report::text_of("%.3f s", seconds) : report::h_mm_ss(seconds);
}

char letter_of(std::size_t stage) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  return kLetters[stage % kLetters.size()];
}

std::vector<std::string> chart_lines(const std::vector<SimulatedStage>& stages, int ranks) {
  const double end = end_of(stages);
  if (end <= 0.0) return {};
  const auto lines = joined(rows_of(stages, ranks, end));
  std::size_t width = 0;
  for (const auto& [members, row] : lines)
    width = std::max(width, report::rank_list(members).size());
  std::vector<std::string> texts{"ranks over " + plan_time(end) + ", each letter is " +
                                 report::text_of("%.3g s", end / kChartColumns)};
  for (const auto& [members, row] : lines) {
    if (texts.size() > kMostLines) break;
    texts.push_back("  " + report::pad_right(report::rank_list(members), width) + "  " + row);
  }
  if (lines.size() > kMostLines)
    texts.push_back(report::text_of("  ... %zu more", lines.size() - kMostLines));
  return texts;
}

std::vector<std::string> table_lines(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(row.size());
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], report::width_of(row[c]));
  }
  std::vector<std::string> lines;
  for (const std::vector<std::string>& row : rows) {
    std::string& line = lines.emplace_back();
    for (std::size_t c = 0; c < row.size(); ++c)
      line += "  " + report::pad_right(row[c], widths[c]);
    line.erase(line.find_last_not_of(' ') + 1);
  }
  return lines;
}

}  // namespace mgpu::jobs
