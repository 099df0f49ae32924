#pragma once

#include <cstdint>
#include <string>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/base/config.hpp>
#include <mgpu/report/plan_text.hpp>

namespace mgpu::jobs {

/// The machine that a plan is for. Sizes in bytes; 0 where nobody knows.
struct PlanMachine {
  std::string name;                 // of a node
  int ranks = 1;                    // of the whole run
  int ranks_per_node = 1;           //
  int cores = 0;                    // of a node; 0 where nobody knows
  std::uint64_t host_bytes = 0;     // memory of a node that the run may use
  std::uint64_t program_bytes = 0;  // of a process before it does anything
  std::uint64_t disk_bytes = 0;     // free where the run directory will be
  DeviceKind device = DeviceKind::cpu;
  std::string gpu_name;         // "" on the CPU
  std::uint64_t gpu_bytes = 0;  // of each GPU
};

/// Bytes that a run of these keys writes at most: journal and sealed files of histories and
/// evaluation, and as many checkpoints as lie there at once.
std::uint64_t train_disk_bytes(const Config& config);

/// What a run of job train will take, by arithmetic on shapes; nothing is measured, so every time
/// is a guess and says on what basis.
///
/// Errors: those of check_train_job(), which is to be called before.
report::Plan plan_train(const Config& config, const PlanMachine& machine);

}  // namespace mgpu::jobs
