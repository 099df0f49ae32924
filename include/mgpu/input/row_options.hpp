#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/config/key_table.hpp>

namespace mgpu::input {

enum class RowFormat {
  automatic,  // by the name of the file: .jsonl .ndjson .json .csv .tsv .parquet
  jsonl,      // an object per line, or one list of objects
  csv,        // RFC 4180
  tsv,        // the same with tabs
  parquet,
};

/// What becomes of rows that cannot be used.
enum class BadRow {
  stop,  // one error that names them, before any work
  mark,  // they stay in their place, with the reason
};

/// Which rows of which file, and what they need to have.
///
/// Our names are text, prompt, completion, messages, token_ids, label, group and id.
struct RowOptions {
  fs::path path;
  RowFormat format = RowFormat::automatic;
  /// Of our names: what the file calls them. Names that are not here are called the same there.
  std::vector<std::pair<std::string, std::string>> columns;
  std::int64_t start = 0;                   // first row
  std::optional<std::int64_t> max_samples;  // none: up to the end of the file
  BadRow on_bad_row = BadRow::stop;
  bool has_header = true;  // csv, tsv: false: columns are called 1, 2, 3
  bool has_quotes = true;  // csv, tsv: false: a quote is a character like others

  /// Our names of which a row has exactly one: what the job works on. Where `columns` has some of
  /// them, the others do not count, and are left out of rows.
  std::vector<std::string> one_of;
  std::vector<std::string> all_of;    // our names that every row has besides
  std::vector<std::string> may_have;  // our names that the job looks at where they are
  std::vector<std::string> keeps;     // our names that results keep where nobody says which
};

/// The keys data.columns.*, data.format, data.max_samples, data.start, data.on_bad_row,
/// data.header and data.quotes.
void add_input_keys(KeyTable& table);

/// Those, and data.path; no path where it is null. The caller says which fields it needs.
RowOptions read_row_options(const Config& config);

}  // namespace mgpu::input
