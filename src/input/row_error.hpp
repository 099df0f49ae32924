#pragma once

#include <string>

#include <mgpu/base/error.hpp>

namespace mgpu::input {

/// Thrown for an unusable row. The function why() returns a clause that messages put after the file
/// and line, such as "it is an empty line".
class RowError : public Error {
public:
  explicit RowError(std::string why, Where where = Where::here())
      : Error(why, where), why_(std::move(why)) {}

  const std::string& why() const noexcept { return why_; }

private:
  std::string why_;
};

}  // namespace mgpu::input
