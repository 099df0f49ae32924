#pragma once

#include <cstdint>
#include <string>

namespace mgpu::input {

/// Rows that do not come from a file of rows: the program generates them, or makes them from a
/// result file. Row i is the same on all ranks and in any order of calls.
class GeneratedRows {
public:
  GeneratedRows() = default;
  GeneratedRows(const GeneratedRows&) = delete;
  GeneratedRows& operator=(const GeneratedRows&) = delete;
  GeneratedRows(GeneratedRows&&) = delete;
  GeneratedRows& operator=(GeneratedRows&&) = delete;
  virtual ~GeneratedRows() = default;

  /// Returns the name that messages show instead of a file's path.
  virtual std::string name() const = 0;

  virtual std::int64_t rows() const = 0;

  /// Returns row `index` as a JSON object on one line, as in a JSON Lines file.
  virtual std::string row(std::int64_t index) const = 0;
};

}  // namespace mgpu::input
