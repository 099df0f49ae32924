#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mgpu/base/file_io.hpp>

namespace mgpu::formats {

/// What is wrong with lines of a file, kept until all of them were looked at.
class LineProblems {
public:
  explicit LineProblems(fs::path path) : path_(std::move(path)) {}

  void add(std::int64_t line, const std::string& why);

  std::int64_t count() const { return count_; }

  /// What add() was told, as text for another rank, and the other way round.
  std::string packed() const;
  void unpack(std::string_view packed);

  /// "data.jsonl:3: it is an empty line": the first one. There has to be one.
  std::string first_text() const;

  /// One error with the first five lines.
  /// Errors: Failure E531 (exit 65) when there are any problems.
  void throw_if_any(const std::string& help = "repair or remove them; none is skipped") const;

private:
  fs::path path_;
  std::int64_t count_ = 0;
  std::vector<std::pair<std::int64_t, std::string>> first_;  // ascending by line
};

}  // namespace mgpu::formats
