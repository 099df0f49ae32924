#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mgpu/base/file_io.hpp>

namespace mgpu::formats {

/// Collects the problems of the lines of one file, to report them in one error.
class LineProblems {
public:
  explicit LineProblems(fs::path path) : path_(std::move(path)) {}

  /// Adds the problem `why` of a line; lines count from 1.
  void add(std::int64_t line, const std::string& why);

  std::int64_t count() const { return count_; }

  /// Serializes the number of problems and the first five, for unpack() on another rank.
  std::string packed() const;
  /// Adds the problems that packed() serialized on another rank to those of this object.
  void unpack(std::string_view packed);

  /// Returns the problem of the first bad line in the file, such as "data.jsonl:3: it is an empty
  /// line".
  /// Errors: Error if no line is bad.
  std::string first_text() const;

  /// Throws Failure E531 (exit 65) if there are any problems. The report shows the number of
  /// problems, and the first five of them by line.
  void throw_if_any(const std::string& help = "repair or remove them; none is skipped") const;

private:
  fs::path path_;
  std::int64_t count_ = 0;
  std::vector<std::pair<std::int64_t, std::string>> first_;  // first five (line, problem)
};

}  // namespace mgpu::formats
