#pragma once

#include <cstdint>
#include <string>

namespace mgpu::input {

/// Rows that the program makes: it generates them, or converts them from a result file or from a
/// published data set. Row i is the same on all ranks and in any order of calls.
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
