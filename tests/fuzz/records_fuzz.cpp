// Reads any bytes as a table, a JSON list and a line of JSON. The ends of records must not depend
// on how the file is divided into blocks. A record must not change when it is written and read
// again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/utf8.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/formats/line_problems.hpp>

#include "input/csv_record.hpp"
#include "input/json_row.hpp"
#include "input/record_ends.hpp"
#include "input/row_error.hpp"
#include "memory_file.hpp"

namespace {

using namespace mgpu;
using namespace mgpu::input;
using fuzz::require;

/// Returns the records of a text that arrives in blocks of `block` bytes.
std::vector<std::string> records_of(std::string_view text, std::unique_ptr<RecordEnds> ends,
                                    std::size_t block) {
  std::vector<std::string> records(1);
  while (!text.empty() && !ends->is_over()) {
    const std::string_view bytes = text.substr(0, block);
    const std::size_t end = ends->find_end(bytes);
    records.back() += bytes.substr(0, end);
    text.remove_prefix(std::min(end, bytes.size()));
    if (end != std::string_view::npos) records.emplace_back();
  }
  return records;
}

/// Returns the records, which must not depend on the block size.
template <class MakeEnds>
std::vector<std::string> records_of(std::string_view text, MakeEnds make_ends) {
  std::vector<std::string> records = records_of(text, make_ends(), text.size() + 1);
  for (const std::size_t block : {std::size_t{1}, std::size_t{7}})
    require(records_of(text, make_ends(), block) == records);
  return records;
}

std::string written(const std::vector<CsvCell>& cells, const CsvRules& rules) {
  std::string text;
  for (const CsvCell& cell : cells) {
    if (&cell != &cells.front()) text += rules.separator;
    if (!rules.has_quotes) {
      text += cell.text;
      continue;
    }
    text += '"';
    for (const char byte : cell.text)
      text += byte == '"' ? std::string("\"\"") : std::string(1, byte);
    text += '"';
  }
  return text + "\r\n";
}

void read_again(const std::string& record, const CsvRules& rules) {
  try {
    const std::vector<CsvCell> cells = csv_cells(record, rules);
    const std::vector<CsvCell> again = csv_cells(written(cells, rules), rules);
    require(again.size() == cells.size());
    for (std::size_t i = 0; i < cells.size(); ++i)
      require(again[i].text == cells[i].text);
  } catch (const RowError& error) {
    require(!error.why().empty());
  }
}

/// Checks that the reason for an unusable row can be sent to another rank, and printed.
void show_again(const std::string& why) {
  require(!why.empty());
  formats::LineProblems problems("fuzz.jsonl");
  problems.add(1, why);
  formats::LineProblems elsewhere("fuzz.jsonl");
  elsewhere.unpack(problems.packed());
  require(elsewhere.packed() == problems.packed());
  const std::string shown = elsewhere.first_text();
  require(find_bad_utf8(shown) == std::string::npos && shown.find('\x1b') == std::string::npos);
}

void read_object_again(std::string_view text) {
  try {
    const std::string json = formats::to_json(parse_row_object(text));
    require(formats::to_json(parse_row_object(json)) == json);
  } catch (const RowError& error) {
    show_again(error.why());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const CsvRules& rules : {CsvRules{',', true}, CsvRules{'\t', false}}) {
    const auto make_ends = [&] { return std::make_unique<CsvEnds>(rules); };
    for (const std::string& record : records_of(text, make_ends))
      read_again(record, rules);
  }
  records_of(text, [] { return std::make_unique<ListEnds>(); });
  read_object_again(text);
  return 0;
}
