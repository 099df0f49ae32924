// Reads rows that the program generates.
#include <mgpu/base/activity.hpp>
#include <mgpu/input/generated_rows.hpp>

#include "json_row.hpp"
#include "row_error.hpp"
#include "row_source.hpp"

namespace mgpu::input {
namespace {

constexpr std::int64_t kRowsPerMark = 4096;  // rows between two calls of mark_progress()

class ReadGeneratedRows final : public RowSource {
public:
  explicit ReadGeneratedRows(const GeneratedRows& rows) : rows_(rows) {}

  std::vector<RawRow> read(std::int64_t first, std::int64_t count) override {
    std::vector<RawRow> rows;
    for (std::int64_t i = first; i < first + count; ++i)
      rows.push_back(read_row(i));
    return rows;
  }

private:
  RawRow read_row(std::int64_t index) const {
    RawRow row{index + 1, {}, ""};
    try {
      row.object = parse_row_object(rows_.row(index));
    } catch (const RowError& error) {
      row.problem = error.why();
    }
    return row;
  }

  const GeneratedRows& rows_;
};

}  // namespace

std::unique_ptr<RowSource> open_generated_rows(const GeneratedRows& rows) {
  return std::make_unique<ReadGeneratedRows>(rows);
}

RowIndex index_generated_rows(const GeneratedRows& rows) {
  RowIndex index;
  index.rows = rows.rows();
  for (std::int64_t i = 0; i < index.rows; ++i) {
    if (i % kRowsPerMark == 0) mark_progress();
    const std::string line = rows.row(i) + '\n';
    index.crc = crc32c(line, index.crc);
    index.stamp.size += line.size();
  }
  return index;
}

}  // namespace mgpu::input
