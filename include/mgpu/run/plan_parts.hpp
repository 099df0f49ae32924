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

// These functions compute parts of a plan (--plan) in the same way for all jobs.
namespace mgpu::run {

inline constexpr double kShareOfPeak = 0.4;  // assumed share of peak FLOP/s in matrix products
inline constexpr double kSealBytesPerSecond = 1e8;  // assumed speed of writing the result file
// GPU memory that a CUDA context takes, with cuBLAS and NCCL.
inline constexpr std::uint64_t kCudaContext = std::uint64_t{512} << 20;

/// Truncates to whole bytes and limits the result to [0, 2^60], so that sums of results do not
/// overflow.
std::uint64_t whole_bytes(double bytes);

/// Starts a plan. Sets only its name, machine, kind of device, ranks, unit and memory. On the CPU,
/// the memory is that of a node, divided by the number of ranks on the node.
report::Plan begin_plan(const Config& config, const PlanMachine& machine, std::string unit);

/// Returns the estimated memory of a process without data and models, including what its libraries
/// load on first use.
std::uint64_t program_bytes(const PlanMachine& machine);

int nodes_of(const PlanMachine& machine);

/// Returns the samples in share `part`, counted from 0, if static_share() divides the chunks of
/// `phase` into `parts` shares.
report::Plan::Share chunk_share(const ChunkPhase& phase, int part, int parts);

/// Returns the sum of all parts of plan.memory, in bytes.
std::uint64_t planned_bytes(const report::Plan& plan);

/// Adds a limit to the plan: the run needs `need` bytes of a resource, of which `have` bytes are
/// available. `what` names the resource, and `key` is the key that changes `need` or `have`. Adds
/// nothing if `have` is 0.
void add_limit(report::Plan& plan, const char* what, std::uint64_t need, std::uint64_t have,
               const char* key);

/// The memory of a GPU or of a node, which one or more ranks share. These ranks leave the fraction
/// devices.memory_margin of the memory free.
struct SharedMemory {
  const char* what;                // "memory of a node"
  std::uint64_t have;              // 0: unknown
  std::uint64_t copies;            // ranks that share this memory
  double allowed;                  // fraction of the memory that these ranks may use together
  const char* key;                 // key that changes the needed memory
  std::uint64_t headroom() const;  // bytes that one rank may use
};

/// Returns the memory that ranks use: the memory of a GPU, or on the CPU the memory of a node.
SharedMemory memory_of_ranks(const Config& config, const PlanMachine& machine, const char* key);

/// Adds a limit to the plan: each rank that shares `memory` needs `need` bytes. If the ranks need
/// more than the fraction memory.allowed of `memory`, the plan suggests the arguments that `fits`
/// returns. `fits` returns "" if no arguments help.
void add_memory_limit(report::Plan& plan, const SharedMemory& memory, std::uint64_t need,
                      const std::function<std::string()>& fits);

/// Returns "KEY=N" for memory.key and the largest N of `rows` / 2, `rows` / 4, ... for which
/// `bytes_of(N)` fits into the memory of a rank; "" if no N fits.
std::string fitting_rows(const SharedMemory& memory, std::int64_t rows,
                         const std::function<std::uint64_t(std::int64_t rows)>& bytes_of);

/// Returns the bytes of the gradient buffers of a rank. `weights` is the size of all weights in
/// bytes, and `bucket` is the size of a bucket of gradients in bytes. The buffers hold at most one
/// bucket of gradients from another rank. With run.deterministic=layout, they also hold partial
/// sums over the lanes of this rank, which are fixed parts of the global batch.
std::uint64_t gradient_buffer_bytes(const train::BatchShape& batch, std::uint64_t weights,
                                    std::uint64_t bucket, int ranks);

/// Adds to the plan the bytes of gradients that each of R ranks sends in a step. `weights` is the
/// size of all weights in bytes, which is also the size of all gradients. In a ring, a rank sends 2
/// (R - 1) / R times this size. In a tree (run.deterministic=layout), it sends this size once per
/// level, and there are log2 R levels.
void add_gradient_traffic(report::Plan& plan, const train::BatchShape& batch,
                          std::uint64_t weights);

}  // namespace mgpu::run
