#include "row_index.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/formats/line_problems.hpp>

#include "parquet_rows.hpp"
#include "record_reader.hpp"
#include "row_error.hpp"

namespace mgpu::input {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

constexpr std::array kEndings = {
    std::pair(".jsonl", RowFormat::jsonl), std::pair(".ndjson", RowFormat::jsonl),
    std::pair(".json", RowFormat::jsonl),  std::pair(".csv", RowFormat::csv),
    std::pair(".tsv", RowFormat::tsv),     std::pair(".parquet", RowFormat::parquet)};

bool is_table(RowFormat format) {
  return format == RowFormat::csv || format == RowFormat::tsv;
}

[[noreturn]] void refuse(const fs::path& path, std::int64_t line, const std::string& sentence,
                         const std::string& help) {
  const std::string place = line > 0 ? ":" + std::to_string(line) : "";
  throw Failure({"E532", ExitCode::data, sentence, {"  --> " + path.string() + place}, help});
}

/// Counts the rows, and notes where rows 0, 32, 64, ... begin, in one pass over the file.
class RowCounter {
public:
  RowCounter(RowIndex& index, RecordEnds& ends, const RowMark& begin)
      : index_(index), ends_(ends), position_(begin) {}

  /// Adds the next bytes of the file. Errors: RowError for data after the end of a JSON list.
  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      if (ends_.is_over()) {
        check_tail(bytes);
        return;
      }
      begin_row();
      const std::size_t end = ends_.find_end(bytes);
      const std::string_view taken = bytes.substr(0, end);
      position_.line += std::count(taken.begin(), taken.end(), '\n');
      position_.offset += std::ssize(taken);
      bytes.remove_prefix(taken.size());
      is_inside_ = end == std::string_view::npos;
      if (!is_inside_ && ends_.is_record()) ++index_.rows;
    }
  }

  void finish() {
    const bool goes_on = !ends_.ends_with_file() && !ends_.is_over();
    if (goes_on) begin_row();
    if (is_inside_ || goes_on) ++index_.rows;
    const std::int64_t per_mark = RowIndex::kRowsPerMark;
    index_.marks.resize(static_cast<std::size_t>((index_.rows + per_mark - 1) / per_mark));
  }

  std::int64_t line() const { return position_.line; }

private:
  void begin_row() {
    const bool has_mark = std::ssize(index_.marks) * RowIndex::kRowsPerMark > index_.rows;
    if (!is_inside_ && !has_mark) index_.marks.push_back(position_);
  }

  void check_tail(std::string_view bytes) {
    const auto strange = std::find_if_not(bytes.begin(), bytes.end(), is_json_blank);
    position_.line += std::count(bytes.begin(), strange, '\n');
    if (strange != bytes.end()) throw RowError("there is data after the end of the list");
  }

  RowIndex& index_;
  RecordEnds& ends_;
  RowMark position_;
  bool is_inside_ = false;
};

/// Returns the position of the first record, which follows the byte order mark and the opening
/// bracket of a JSON list, if the file has them. The first record of a table may be the header.
/// Sets index.is_list.
RowMark find_body(const DataFile& file, RowIndex& index) {
  std::string head(std::size_t{64} << 10, '\0');
  head.resize(file.read(0, head));
  RowMark body;
  if (head.starts_with(kByteOrderMark)) body.offset = std::ssize(kByteOrderMark);
  if (index.format != RowFormat::jsonl) return body;
  const auto begin = head.begin() + body.offset;
  const auto first = std::find_if_not(begin, head.end(), is_json_blank);
  index.is_list = first != head.end() && *first == '[';
  if (!index.is_list) return body;
  return {first - head.begin() + 1, 1 + std::count(begin, first, '\n')};
}

/// Reads the names of the columns from the first record, and moves `body` past that record. If
/// RowOptions::has_header is false, the names are the numbers of the columns from 1, and `body`
/// does not move.
void read_columns(const DataFile& file, const RowOptions& options, RowIndex& index, RowMark& body) {
  RecordReader reader(file, make_record_ends(index, options), body);
  Record record;
  reader.next(record);
  try {
    if (record.is_too_long) throw RowError("it is longer than 16 MiB");
    if (find_bad_utf8(record.text) != std::string::npos) throw RowError("it is not UTF-8");
    for (CsvCell& cell : csv_cells(record.text, csv_rules(index.format, options)))
      index.columns.push_back(std::move(cell.text));
  } catch (const RowError& error) {
    refuse(file.path(), record.line, "the first line of a table cannot be used: " + error.why(),
           "");
  }
  for (std::size_t i = 0; !options.has_header && i < index.columns.size(); ++i)
    index.columns[i] = std::to_string(i + 1);
  if (options.has_header) body = reader.position();
}

void check_columns(const DataFile& file, const RowIndex& index) {
  std::vector<std::string> names = index.columns;
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return;
  refuse(file.path(), 1, "two columns are called `" + printable(*twice) + "`",
         is_table(index.format) ? "give each column a unique name; a file without names is "
                                  "read with data.header=false"
                                : "give each column a unique name");
}

void count_rows(const DataFile& file, const RowOptions& options, RowIndex& index) {
  RowMark body = find_body(file, index);
  if (is_table(index.format)) read_columns(file, options, index, body);
  const std::unique_ptr<RecordEnds> ends = make_record_ends(index, options);
  RowCounter counter(index, *ends, body);
  auto skipped = static_cast<std::size_t>(body.offset);
  try {
    file.for_each_block([&](std::string_view block) {
      index.crc = crc32c(block, index.crc);
      const std::size_t head = std::min(skipped, block.size());
      skipped -= head;
      counter.add(block.substr(head));
    });
  } catch (const RowError& error) {
    refuse(file.path(), counter.line(), error.why(), "");
  }
  counter.finish();
}

template <class T>
void put(std::string& bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
T take(std::string_view& bytes) {
  T value;
  if (bytes.size() < sizeof value) throw Error("an index of rows is too short");
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

}  // namespace

std::string RowIndex::to_bytes() const {
  std::string bytes;
  put(bytes, stamp);
  put(bytes, crc);
  put(bytes, format);
  put(bytes, is_list);
  put(bytes, rows);
  put(bytes, columns.size());
  for (const std::string& name : columns) {
    put(bytes, name.size());
    bytes += name;
  }
  put(bytes, marks.size());
  bytes.append(reinterpret_cast<const char*>(marks.data()), marks.size() * sizeof(RowMark));
  return bytes;
}

RowIndex RowIndex::from_bytes(std::string_view bytes) {
  RowIndex index;
  index.stamp = take<FileStamp>(bytes);
  index.crc = take<std::uint32_t>(bytes);
  index.format = take<RowFormat>(bytes);
  index.is_list = take<bool>(bytes);
  index.rows = take<std::int64_t>(bytes);
  index.columns.resize(take<std::size_t>(bytes));
  for (std::string& name : index.columns) {
    const auto size = take<std::size_t>(bytes);
    name = bytes.substr(0, size);
    bytes.remove_prefix(name.size());
  }
  index.marks.resize(take<std::size_t>(bytes));
  if (bytes.size() != index.marks.size() * sizeof(RowMark))
    throw Error("an index of rows has another length");
  if (!bytes.empty()) std::memcpy(index.marks.data(), bytes.data(), bytes.size());
  return index;
}

RowFormat format_of(const RowOptions& options) {
  if (options.format != RowFormat::automatic) return options.format;
  const std::string ending = options.path.extension().string();
  for (const auto& [known, format] : kEndings)
    if (ending == known) return format;
  refuse(options.path, 0, "the name of a data file does not tell its format",
         "data.format=jsonl, csv, tsv or parquet");
}

CsvRules csv_rules(RowFormat format, const RowOptions& options) {
  return {format == RowFormat::tsv ? '\t' : ',', options.has_quotes};
}

std::unique_ptr<RecordEnds> make_record_ends(const RowIndex& index, const RowOptions& options) {
  if (index.is_list) return std::make_unique<ListEnds>();
  if (!is_table(index.format)) return std::make_unique<LineEnds>();
  const CsvRules rules = csv_rules(index.format, options);
  if (!rules.has_quotes) return std::make_unique<LineEnds>();
  return std::make_unique<CsvEnds>(rules);
}

std::int64_t count_records(const DataFile& file, const RowOptions& options, std::int64_t most) {
  RowIndex index;
  index.format = format_of(options);
  if (index.format == RowFormat::parquet) return std::min(most, read_parquet_facts(file).rows);
  RowMark body = find_body(file, index);
  if (is_table(index.format)) read_columns(file, options, index, body);
  std::unique_ptr<RecordEnds> ends = make_record_ends(index, options);
  const RecordEnds& last_end = *ends;
  RecordReader reader(file, std::move(ends), body);
  std::int64_t count = 0;
  for (Record record; count < most && !last_end.is_over() && reader.next(record);)
    if (last_end.is_record()) ++count;
  return count;
}

RowIndex make_row_index(const DataFile& file, const RowOptions& options) {
  RowIndex index;
  index.stamp = file.stamp();
  index.format = format_of(options);
  if (index.stamp.size == 0) {
    formats::LineProblems problems(file.path());
    problems.add(1, "the file is empty");
    problems.throw_if_any();
  }
  if (index.format == RowFormat::parquet) {
    ParquetFacts facts = read_parquet_facts(file);
    index.rows = facts.rows;
    index.columns = std::move(facts.columns);
    file.for_each_block([&](std::string_view block) { index.crc = crc32c(block, index.crc); });
  } else {
    count_rows(file, options, index);
  }
  check_columns(file, index);
  if (index.rows == 0) refuse(file.path(), 0, "a data file has no rows", "");
  return index;
}

}  // namespace mgpu::input
