#pragma once

#include <string>
#include <vector>

namespace mgpu::report {

enum class Verdict { pass, warn, fail, skip };

/// The result of one check, which --check prints as one line.
struct Check {
  std::string area;  // "config", "memory", "nccl"
  std::string what;  // "conf/train_ad.yaml", "allreduce 256 MiB across nodes"
  Verdict verdict = Verdict::pass;
  std::string detail{};  // "31 keys, 4 not default"; if the verdict is not pass, the reason
};

/// Formats a check as one line without a newline. If `color` is true, the verdict is colored.
/// "config     conf/train_ad.yaml ............................. PASS   31 keys, 4 not default"
std::string check_line(const Check& check, bool color = false);

/// Formats the numbers of checks by verdict: "9 passed, 1 warning in 6.4 s".
std::string check_total(const std::vector<Check>& checks, double seconds);

/// Formats the checks as JSON: [{"area": ..., "what": ..., "verdict": "pass", "detail": ...}, ...]
std::string checks_json(const std::vector<Check>& checks);

}  // namespace mgpu::report
