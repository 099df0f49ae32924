#include "export.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/report/text_format.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "latency_file.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kBlockRows = 4096;
constexpr std::string_view kTime = "response_time";
constexpr std::array<std::string_view, 10> kColumns = {
    "strategy",  "input_text",        "true_label",  "predicted_label", kTime,
    "rationale", "target_group_norm", "persona_tag", "source_dataset",  "status"};

std::string csv_cell(std::string_view cell) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(cell);
  std::string text = "\"";
  for (const char c : cell) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

std::string time_text(double seconds) {
  return seconds < 0.0 ? "" : report::text_of("%.6f", seconds);
}

std::int64_t write_table(const std::filesystem::path& results, std::ostream& out) {
  const std::int64_t rows = store::read_table(results, "samples").rows;
  const std::vector<double> seconds = read_latency(results.parent_path(), rows);
  for (std::size_t c = 0; c < kColumns.size(); ++c)
    out << (c == 0 ? "" : ",") << kColumns[c];
  out << "\r\n";
  for (std::int64_t first = 0; first < rows; first += kBlockRows) {
    std::vector<std::vector<std::string>> texts;
    for (const std::string_view column : kColumns)
      texts.push_back(column == kTime ? std::vector<std::string>{}
                                      : store::read_texts(results, "samples", std::string(column),
                                                          first, kBlockRows));
    for (std::int64_t row = first; row < std::min(first + kBlockRows, rows); ++row) {
      const auto at = static_cast<std::size_t>(row - first);
      for (std::size_t c = 0; c < kColumns.size(); ++c)
        out << (c == 0 ? "" : ",")
            << (kColumns[c] == kTime ? time_text(seconds[static_cast<std::size_t>(row)])
                                     : csv_cell(texts[c].at(at)));
      out << "\r\n";
    }
  }
  return rows;
}

}  // namespace

std::int64_t export_labels(const run::ExportRequest& request) {
  std::ofstream out(request.out, std::ios::binary);
  const std::int64_t rows = write_table(request.results, out);
  out.close();
  if (out) return rows;
  throw Failure(
      {"E602", ExitCode::io, "cannot write the table", {"  --> " + request.out.string()}, ""});
}

}  // namespace mgpu::jobs
