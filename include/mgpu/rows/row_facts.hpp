#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/store/results/columns.hpp>

namespace mgpu::rows {

/// What became of a row of the user's data, as column `status` of all tables has it. The last two
/// never reach the model.
enum class RowStatus : std::uint8_t {
  ok,         // whole
  truncated,  // the model saw its first tokens, data.max_length of them
  too_long,   // left out for its length
  bad_row,    // it cannot be used
};

/// "ok", "truncated", "too_long", "bad_row".
const char* name_of(RowStatus status);
std::vector<std::string> names_of_row_status();

/// What every table says of a row of the user's data beside a job's own columns.
struct RowFacts {
  RowStatus status = RowStatus::ok;
  std::string reason{};             // why the status is not `ok`; "" where it is
  std::vector<std::string> kept{};  // values of KeptColumns::names(); empty: the row was not read
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
