#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/store/results/columns.hpp>

namespace mgpu::rows {

/// Column `status` of all tables: how a row of the user's data was used. The model never sees rows
/// with the last two values.
enum class RowStatus : std::uint8_t {
  ok,         // used completely
  truncated,  // cut to the first data.max_length tokens
  too_long,   // left out because it is too long
  bad_row,    // unusable
};

/// "ok", "truncated", "too_long", "bad_row".
const char* name_of(RowStatus status);
std::vector<std::string> names_of_row_status();

/// Facts about a row of the user's data that every table has, in addition to a job's own columns.
struct RowFacts {
  RowStatus status = RowStatus::ok;
  std::string reason{};             // why the status is not `ok`; "" if it is
  std::vector<std::string> kept{};  // values of KeptColumns::names(); empty: row not read
};

/// Adds the columns `status`, `reason` and row_<name> for each of the kept names.
/// `facts(row)` returns a reference to the RowFacts of a row of the table.
template <class Row, class Facts>
void add_row_columns(store::Columns<Row>& columns, const std::vector<std::string>& kept,
                     Facts facts) {
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
