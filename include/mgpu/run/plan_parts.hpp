#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/train/batch_plan.hpp>

// What the plans of all jobs count alike.
namespace mgpu::run {

inline constexpr double kSealBytesPerSecond = 1e8;  // write, read back, compress
inline constexpr std::uint64_t kCudaContext = std::uint64_t{512} << 20;  // with cuBLAS and NCCL

/// As whole numbers of bytes, of which many can be added up; nobody has as many as 2^60.
std::uint64_t whole_bytes(double bytes);

/// A plan with its name and machine.
report::Plan begin_plan(const Config& config, const PlanMachine& machine, std::string unit);

/// Of a process with what its libraries load as they are used.
std::uint64_t program_bytes(const PlanMachine& machine);

int nodes_of(const PlanMachine& machine);

/// The share of one of `parts` of the phase's chunks.
report::Plan::Share chunk_share(const ChunkPhase& phase, int part, int parts);

/// Bytes of all parts of plan.memory.
std::uint64_t planned_bytes(const report::Plan& plan);

void add_limit(report::Plan& plan, const char* what, std::uint64_t need, std::uint64_t have,
               const char* key);

/// A memory of which devices.memory_margin stays free.
struct SharedMemory {
  const char* what;            // "memory of a node"
  std::uint64_t have;          // 0 where nobody knows
  std::uint64_t copies;        // ranks that share it
  double allowed;              // share that they may fill
  const char* key;             // that changes what they need
  std::uint64_t room() const;  // of one rank
};

/// The memory where ranks compute: a GPU's, or their node's.
SharedMemory memory_of_ranks(const Config& config, const PlanMachine& machine, const char* key);

/// `fits` says what to type where a rank needs more than there is room for; "" if nothing helps.
void add_memory_limit(report::Plan& plan, const SharedMemory& memory, std::uint64_t need,
                      const std::function<std::string()>& fits);

/// "train.micro_batch_size=N", the largest half of a half of `rows` of which `bytes_of` says that
/// a rank has room; "" when there is none.
std::string fitting_rows(const SharedMemory& memory, std::int64_t rows,
                         const std::function<std::uint64_t(std::int64_t rows)>& bytes_of);

/// Partial sums of lanes (layout mode), and the peer's part of a bucket.
std::uint64_t gradient_buffer_bytes(const train::BatchShape& batch, std::uint64_t weights,
                                    std::uint64_t bucket, int ranks);

/// What a rank sends of its gradients in a step. By ring: 2 (R - 1) / R of them. By tree (layout):
/// all of them once per level, log2 R levels.
void add_gradient_traffic(report::Plan& plan, const train::BatchShape& batch,
                          std::uint64_t weights);

}  // namespace mgpu::run
