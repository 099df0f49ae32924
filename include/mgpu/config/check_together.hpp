#pragma once

#include <functional>
#include <initializer_list>
#include <vector>

#include <mgpu/base/error.hpp>

namespace mgpu {

/// What several checks found: shown one below the other, with the exit code of the first.
class FailuresTogether : public Failure {
public:
  /// At least one report.
  explicit FailuresTogether(std::vector<Report> reports);

  const std::vector<Report>& reports() const noexcept { return reports_; }

private:
  std::vector<Report> reports_;
};

/// Runs checks that throw Failure (rules between keys), and throws what they found as one. A check
/// may itself consist of checks.
///
/// Errors: the only Failure there was, or FailuresTogether; RefusedKey where a check could not be
///         made and no other one failed.
void check_together(std::initializer_list<std::function<void()>> checks);

}  // namespace mgpu
