#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/input/generated_rows.hpp>

namespace mgpu::input {

enum class RowFormat {
  automatic,  // by the file name: .jsonl .ndjson .json .csv .tsv .parquet
  jsonl,      // an object per line, or one list of objects
  csv,        // RFC 4180
  tsv,        // like csv, with tabs
  parquet,
};

/// How unusable rows are handled.
enum class BadRow {
  stop,  // one error reports these rows before any work
  mark,  // results keep these rows, with the reason; job train leaves them out
};

/// Says which rows of a file to read, and which columns the program's job (train, generate, ...)
/// needs.
///
/// This program has its own names for columns: text, prompt, completion, chosen, rejected,
/// messages, token_ids, completion_ids, answer, label, cut, group and id. `columns` tells where the
/// file uses other names. A job that needs `chosen` also takes lists of messages in prompt, chosen
/// and rejected.
struct RowOptions {
  fs::path path;
  std::shared_ptr<const GeneratedRows> generated{};  // instead of `path`; nullptr: a file
  RowFormat format = RowFormat::automatic;
  /// Each pair has this program's name of a column, and the file's name of that column. A column
  /// without a pair has the same name in the program and in the file.
  std::vector<std::pair<std::string, std::string>> columns;
  std::int64_t start = 0;                   // index of the first row to read
  std::optional<std::int64_t> max_samples;  // most rows to read; nullopt: all
  BadRow on_bad_row = BadRow::stop;
  bool has_header = true;  // csv and tsv only; if false, columns are called 1, 2, 3
  bool has_quotes = true;  // csv and tsv only; if false, quotes are ordinary characters

  /// The columns for the job's main input, by this program's names: a row must have exactly one of
  /// them. If `columns` has a pair for at least one of these names, a row must have exactly one of
  /// the names with a pair. In that case, rows lack the columns with the other names.
  std::vector<std::string> one_of;
  std::vector<std::string> all_of;    // columns that every row must also have
  std::vector<std::string> may_have;  // columns that the job uses if present
  std::vector<std::string> keeps;     // columns that results keep by default

  /// Returns the path of the file, or the name of the generated rows, for messages.
  std::string source() const { return generated ? generated->name() : path.string(); }
};

/// Adds the keys data.columns.*, data.format, data.max_samples, data.start, data.on_bad_row,
/// data.header and data.quotes.
void add_input_keys(KeyTable& table);

/// Returns whether a key describes the format of a file: data.format, data.header, data.quotes and
/// data.columns.*.
bool is_format_key(std::string_view name);

/// Reads data.path (an empty path if the key is null) and the keys that add_input_keys() adds. The
/// caller adds `generated`, `one_of`, `all_of`, `may_have` and `keeps`.
RowOptions read_row_options(const Config& config);

}  // namespace mgpu::input
