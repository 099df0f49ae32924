#include "export.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/report/text_format.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "latency_file.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kBlockRows = 4096;
constexpr std::array<const char*, 10> kColumns = {
    "strategy",  "input_text",        "true_label",  "predicted_label", "response_time",
    "rationale", "target_group_norm", "persona_tag", "source_dataset",  "status"};

/// Maps the outcome of a row, a result of outcome_of(), to the word in column `status` of the CSV.
const std::map<std::string, std::string, std::less<>> kStatusWords = {{"ok", "success"},
                                                                      {"truncated", "cut"},
                                                                      {"unknown", "unknown"},
                                                                      {"too_long", "too long"},
                                                                      {"bad_row", "error"}};

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

/// Makes the cells of the CSV from a result file. load() reads the texts in blocks of kBlockRows
/// rows, so that only one block of texts is in memory.
class LabelRows {
public:
  explicit LabelRows(const std::filesystem::path& results)
      : samples_(store::read_table(results, "samples")),
        seconds_(read_latency(results.parent_path(), samples_.rows)) {
    const std::vector<std::string> texts = store::text_columns(results, "samples");
    for (const std::string column : kColumns)
      if (std::find(texts.begin(), texts.end(), column) != texts.end())
        texts_.emplace(column, Texts{store::TextColumn(results, "samples", column), {}})
            .first->second.column.check_bytes();
    for (const std::string column : kColumns)
      if (column != "response_time" && column != "status" && !texts_.contains(column))
        store::TextColumn(results, "samples", column);  // throws: the column is missing
  }

  std::int64_t rows() const { return samples_.rows; }

  /// Reads the texts of kBlockRows rows from `first` on, for cell().
  void load(std::int64_t first) {
    first_ = first;
    for (auto& [name, texts] : texts_)
      texts.block = texts.column.read(first, kBlockRows);
  }

  std::string cell(const std::string& column, std::int64_t row) const {
    const auto at = static_cast<std::size_t>(row);
    if (column == "response_time") return time_text(seconds_[at]);
    const auto texts = texts_.find(column);
    // Only files of format 1 store column `status` as texts. Newer files store a code.
    if (texts == texts_.end()) return status_of(at);
    return csv_cell(texts->second.block.at(static_cast<std::size_t>(row - first_)));
  }

private:
  struct Texts {
    store::TextColumn column;
    std::vector<std::string> block;
  };

  std::string status_of(std::size_t row) const {
    const auto status = samples_.column("status").values<std::uint8_t>()[row];
    const auto label = samples_.column("pred").values<std::int32_t>()[row];
    return kStatusWords.at(outcome_of(static_cast<rows::RowStatus>(status), label));
  }

  store::ReadTable samples_;
  std::vector<double> seconds_;
  std::map<std::string, Texts> texts_;
  std::int64_t first_ = 0;
};

std::int64_t write_table(const std::filesystem::path& results, std::ostream& out) {
  LabelRows rows(results);
  for (std::size_t c = 0; c < kColumns.size(); ++c)
    out << (c == 0 ? "" : ",") << kColumns[c];
  out << "\r\n";
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    if (row % kBlockRows == 0) rows.load(row);
    for (std::size_t c = 0; c < kColumns.size(); ++c)
      out << (c == 0 ? "" : ",") << rows.cell(kColumns[c], row);
    out << "\r\n";
  }
  return rows.rows();
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
