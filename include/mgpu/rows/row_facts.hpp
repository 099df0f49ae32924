#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/store/results/columns.hpp>

namespace mgpu::rows {

/// How a row of a data file was used. Result tables about rows of a file, or about completions of
/// these rows, show the RowStatus in column `status`. The model never sees rows with the status
/// too_long or bad_row.
enum class RowStatus : std::uint8_t {
  ok,         // used completely
  truncated,  // cut to the largest allowed number of tokens
  too_long,   // left out because it is too long
  bad_row,    // unusable or quarantined
};

/// Returns the name of a status: "ok", "truncated", "too_long" or "bad_row".
const char* name_of(RowStatus status);
std::vector<std::string> names_of_row_status();

/// Facts about a row of a data file. add_row_columns() adds them to a result table, in addition to
/// the columns of the job.
struct RowFacts {
  RowStatus status = RowStatus::ok;
  std::string reason{};  // why the status is not `ok`; "" if it is `ok`
  /// The result of KeptColumns::values_of(). Empty if the row cannot be read or is quarantined.
  std::vector<std::string> kept{};
};

/// Adds the columns `status` and `reason`, and a column row_<name> for each name in `kept`.
/// `facts(row)` returns a reference to the RowFacts of a row of the table.
template <class Row, class FactsOf>
void add_row_columns(store::Columns<Row>& columns, const std::vector<std::string>& kept,
                     FactsOf facts) {
  columns.add_code({"status", "what became of the row"}, names_of_row_status(),
                   [facts](const Row& row) { return facts(row).status; });
  columns.add({"reason", "why the status is not `ok`"},
              [facts](const Row& row) -> std::string { return facts(row).reason; });
  for (std::size_t i = 0; i < kept.size(); ++i)
    columns.add({"row_" + kept[i], "`" + kept[i] + "` of the row, as text"},
                [facts, i](const Row& row) -> std::string {
                  const std::vector<std::string>& values = facts(row).kept;
                  return i < values.size() ? values[i] : "";
                });
}

}  // namespace mgpu::rows
