// Reads rows of JSON Lines, JSON lists, CSV and TSV.
#include <utility>

#include <mgpu/base/utf8.hpp>

#include "json_row.hpp"
#include "record_reader.hpp"
#include "row_error.hpp"
#include "row_source.hpp"

namespace mgpu::input {
namespace {

using formats::JsonValue;

class TextRows : public RowSource {
public:
  TextRows(const DataFile& file, const RowIndex& index, const RowOptions& options)
      : file_(file),
        index_(index),
        options_(options),
        rules_(csv_rules(index.format, options)),
        is_table_(!index.columns.empty()) {}

  std::vector<RawRow> read(std::int64_t first, std::int64_t count) override {
    file_.check_unchanged();
    if (!reader_ || first != next_) go_to(first);
    std::vector<RawRow> rows;
    for (std::int64_t i = 0; i < count; ++i)
      rows.push_back(read_row());
    next_ = first + count;
    return rows;
  }

private:
  void go_to(std::int64_t first) {
    const auto mark = static_cast<std::size_t>(first / RowIndex::kRowsPerMark);
    reader_.emplace(file_, make_record_ends(index_, options_), index_.marks[mark]);
    for (std::int64_t i = first % RowIndex::kRowsPerMark; i > 0; --i)
      reader_->next(record_);
  }

  RawRow read_row() {
    RawRow row;
    const bool is_there = reader_->next(record_);
    row.line = record_.line;
    try {
      if (record_.is_too_long) throw RowError("it is longer than 16 MiB");
      if (!is_there) throw RowError("the file ends inside of the list");
      row.object = is_table_ ? read_cells() : read_json(row.line);
    } catch (const RowError& error) {
      row.problem = error.why();
    }
    return row;
  }

  JsonValue read_json(std::int64_t& line) const {
    std::string_view text = record_.text;
    for (; !text.empty() && is_json_blank(text.front()); text.remove_prefix(1))
      if (index_.is_list && text.front() == '\n') ++line;
    if (index_.is_list) text = item_of(text);
    if (text.empty())
      throw RowError(index_.is_list ? "it is an empty item" : "it is an empty line");
    return parse_row_object(text);
  }

  /// Returns the item without the comma or bracket after it.
  static std::string_view item_of(std::string_view text) {
    if (!text.ends_with(',') && !text.ends_with(']'))
      throw RowError("the file ends inside of the list");
    text.remove_suffix(1);
    return text;
  }

  JsonValue read_cells() const {
    if (const std::size_t bad = find_bad_utf8(record_.text); bad != std::string::npos)
      throw RowError("byte " + std::to_string(bad + 1) + " of it is not UTF-8");
    std::vector<CsvCell> cells = csv_cells(record_.text, rules_);
    const std::size_t columns = index_.columns.size();
    if (cells.size() == 1 && cells[0].text.empty() && !cells[0].is_quoted)
      throw RowError("it is an empty line");
    if (cells.size() != columns)
      throw RowError("it has " + std::to_string(cells.size()) + " cells, but there are " +
                     std::to_string(columns) + " columns");
    JsonValue::Members members;
    for (std::size_t i = 0; i < columns; ++i) {
      const bool is_null = cells[i].text.empty() && !cells[i].is_quoted;
      members.emplace_back(index_.columns[i],
                           is_null ? JsonValue() : JsonValue(std::move(cells[i].text)));
    }
    return JsonValue(std::move(members));
  }

  const DataFile& file_;
  const RowIndex& index_;
  const RowOptions& options_;
  CsvRules rules_;
  bool is_table_;
  std::optional<RecordReader> reader_;
  Record record_;
  std::int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<RowSource> open_text_rows(const DataFile& file, const RowIndex& index,
                                          const RowOptions& options) {
  return std::make_unique<TextRows>(file, index, options);
}

}  // namespace mgpu::input
