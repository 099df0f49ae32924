#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::report {

/// The content of the plan that --plan prints: the work of each rank, whether it fits into memory,
/// and the estimated time.
struct Plan {
  /// The ids of the items, such as samples, that one rank or one worker processes. A worker is a
  /// group of ranks with one copy of the model.
  struct Share {
    std::string who;         // "rank 0", "worker 2 (GPUs 4,5)"
    std::string where;       // "node01:GPU 0", "node01"
    std::int64_t first = 0;  // ids [first, first + count)
    std::int64_t count = 0;
  };
  struct Memory {
    std::string what;  // "weights", "gradients", "optimizer", "activations", ...
    std::uint64_t bytes = 0;
  };
  struct Time {
    std::string what;  // a phase
    double seconds = 0.0;
    std::string basis{};  // how it was estimated: "12 MiB written, 100 MB/s assumed"
  };
  struct Traffic {
    std::string link;  // "inside node01", "node01-node02"
    std::uint64_t bytes_per_step = 0;
  };
  struct Limit {
    std::string what;      // "GPU memory", "disk in outputs/"
    double used = 0.0;     // needed amount divided by available amount
    std::string detail;    // "2.1 of 79.3 GiB"
    std::string key;       // key that changes the needed or the available amount
    double allowed = 1.0;  // the plan warns if `used` is higher
    std::string fits{};    // arguments that fit: "train.micro_batch_size=8"; "" for none
  };

  std::string name;
  std::string machine;  // "2 nodes x 4 A100-SXM4-80GB"
  DeviceKind device = DeviceKind::cpu;
  int ranks = 1;
  std::string unit = "samples";  // what the ids count
  std::vector<Share> shares;
  std::vector<Memory> memory;    // parts of the memory of the fullest rank
  std::uint64_t card_bytes = 0;  // memory available to the fullest rank: that of its GPU or, on
                                 // the CPU, its part of the node's memory; 0: unknown
  std::vector<Time> times;
  std::vector<Traffic> traffic{};
  std::vector<Limit> limits;         // in any order
  std::vector<std::string> notes{};  // remarks, for example how the configuration was read
};

/// Formats the plan as tables: the ids of each rank or worker, memory with bars, estimated times,
/// traffic, and the three tightest limits. If there are more than 12 ranks or workers, only the
/// first four and the last two are shown.
std::string plan_text(const Plan& plan, bool utf8 = false);

/// Formats the plan as JSON for --plan=json. Unlike plan_text(), it lists every Plan::Share (the
/// ids that one rank or worker processes) and every limit.
std::string plan_json(const Plan& plan);

}  // namespace mgpu::report
