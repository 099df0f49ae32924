#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mgpu/base/file_io.hpp>

namespace mgpu::formats {

/// Collects the problems of a file's lines until all lines have been checked.
class LineProblems {
public:
  explicit LineProblems(fs::path path) : path_(std::move(path)) {}

  void add(std::int64_t line, const std::string& why);

  std::int64_t count() const { return count_; }

  /// packed() serializes the problems for another rank, and unpack() adds them to those of that
  /// rank.
  std::string packed() const;
  void unpack(std::string_view packed);

  /// Returns the first problem: "data.jsonl:3: it is an empty line". There must be one.
  std::string first_text() const;

  /// Throws one error that shows the first five lines.
  /// Errors: Failure E531 (exit 65) when there are any problems.
  void throw_if_any(const std::string& help = "repair or remove them; none is skipped") const;

private:
  fs::path path_;
  std::int64_t count_ = 0;
  std::vector<std::pair<std::int64_t, std::string>> first_;  // ascending by line
};

}  // namespace mgpu::formats
