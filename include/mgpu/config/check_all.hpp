#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include <mgpu/base/error.hpp>

namespace mgpu {

/// The failures of several checks in one exception. Its text shows each failure, one below the
/// other. Its exit code is that of the first failure.
class CombinedFailure : public Failure {
public:
  /// Joins the failures in `reports` into one.
  /// Errors: Error if `reports` is empty.
  explicit CombinedFailure(std::vector<ErrorReport> reports);

  const std::vector<ErrorReport>& reports() const noexcept { return reports_; }

private:
  std::vector<ErrorReport> reports_;
};

/// Runs every check in `checks`, and then throws the failures of all checks together. A check tests
/// one rule about several keys, and throws Failure if the rule is broken. A check may itself call
/// check_all().
///
/// Errors: Failure if there is one failure; CombinedFailure if there are several; RefusedKey if
///         there is no failure, but a check read a key that has no valid value. Any other exception
///         of a check is thrown at once.
void check_all(std::initializer_list<std::function<void()>> checks);

}  // namespace mgpu
