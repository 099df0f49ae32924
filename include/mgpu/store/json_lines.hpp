#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/store/json_value.hpp>

namespace mgpu::store {

/// One row of a JSON Lines file.
struct JsonLine {
  std::int64_t number = 0;  // of the line, from 1
  JsonValue object;
};

/// What is wrong with lines of a file, kept until all of them were looked at.
class LineProblems {
public:
  explicit LineProblems(fs::path path) : path_(std::move(path)) {}

  void add(std::int64_t line, const std::string& why);

  /// What add() was told, as text for another rank, and the other way round.
  std::string packed() const;
  void unpack(std::string_view packed);

  /// One error with the first five lines.
  /// Errors: Failure E531 (exit 65) when there are any problems.
  void throw_if_any(const std::string& help = "repair or remove them; none is skipped") const;

private:
  fs::path path_;
  std::int64_t count_ = 0;
  std::vector<std::pair<std::int64_t, std::string>> first_;  // ascending by line
};

/// The objects of a text, one a line; a carriage return before the line's end is fine, and so is
/// a last line without one. Lines that cannot be used go to `problems`: not one JSON object in
/// UTF-8, longer than 16 MiB, deeper than 32 levels, a name twice, or nothing at all.
std::vector<JsonLine> parse_json_lines(std::string_view text, LineProblems& problems);

}  // namespace mgpu::store
