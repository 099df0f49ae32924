#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include <mgpu/base/error.hpp>

namespace mgpu {

/// The failures of several checks, shown one below the other, with the exit code of the first.
class CombinedFailure : public Failure {
public:
  /// `reports`: at least one.
  explicit CombinedFailure(std::vector<ErrorReport> reports);

  const std::vector<ErrorReport>& reports() const noexcept { return reports_; }

private:
  std::vector<ErrorReport> reports_;
};

/// Runs checks that throw Failure (rules between keys), and throws all their failures as one. A
/// check may itself consist of checks.
///
/// Errors: the Failure itself if only one check failed, otherwise CombinedFailure; RefusedKey when
///         a check could not be made and no other one failed.
void check_all(std::initializer_list<std::function<void()>> checks);

}  // namespace mgpu
