#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include <mgpu/base/error.hpp>

namespace mgpu {

/// Holds the failures of several checks. It shows them one below the other, and has the exit code
/// of the first failure.
class CombinedFailure : public Failure {
public:
  /// `reports`: at least one.
  explicit CombinedFailure(std::vector<ErrorReport> reports);

  const std::vector<ErrorReport>& reports() const noexcept { return reports_; }

private:
  std::vector<ErrorReport> reports_;
};

/// Runs checks of rules between keys. A check throws Failure when its rule is broken. All failures
/// are then thrown together. A check may itself call check_all().
///
/// Errors: the Failure itself if only one check failed, otherwise CombinedFailure; RefusedKey when
///         a check threw it and no other check failed.
void check_all(std::initializer_list<std::function<void()>> checks);

}  // namespace mgpu
