#pragma once

#include <cstdint>
#include <string>

namespace mgpu::input {

/// Rows that the program generates instead of reading them from a file. Row i depends only on i, so
/// all ranks can generate the same rows, in any order.
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
