#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include <mgpu/base/error.hpp>

namespace mgpu {

/// The failures of several checks, shown one below the other, with the exit code of the first.
class FailuresTogether : public Failure {
public:
  /// `reports`: at least one.
  explicit FailuresTogether(std::vector<Report> reports);

  const std::vector<Report>& reports() const noexcept { return reports_; }

private:
  std::vector<Report> reports_;
};

/// Runs checks that throw Failure (rules between keys), and throws all their failures as one. A
/// check may itself consist of checks.
///
/// Errors: the Failure itself if only one check failed, otherwise FailuresTogether; RefusedKey when
///         a check could not be made and no other one failed.
void check_together(std::initializer_list<std::function<void()>> checks);

}  // namespace mgpu
