#pragma once

#include <string>
#include <vector>

namespace mgpu::report {

enum class Verdict { pass, warn, fail, skip };

/// One line of --check.
struct Check {
  std::string area;  // "config", "memory", "nccl"
  std::string what;  // "conf/train_ad.yaml", "allreduce 256 MiB across nodes"
  Verdict verdict = Verdict::pass;
  std::string detail{};  // "31 keys, 4 not default"; the reason unless it passed
};

/// "config     conf/train_ad.yaml ............................. PASS   31 keys, 4 not default";
/// without a newline. `color` paints the verdict.
std::string check_line(const Check& check, bool color = false);

/// "9 passed, 1 warning in 6.4 s".
std::string check_total(const std::vector<Check>& checks, double seconds);

/// [{"area": ..., "what": ..., "verdict": "pass", "detail": ...}, ...]
std::string checks_json(const std::vector<Check>& checks);

}  // namespace mgpu::report
