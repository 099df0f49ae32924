#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/lm/parallel/memory_plan.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/model_keys.hpp>
#include <mgpu/run/model_memory.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/plan_parts.hpp>

namespace mgpu::run {

std::int64_t num_parameters(const std::vector<tensor::ParameterSpec>& specs);
std::int64_t num_parameters(const lm::LmConfig& config);

/// Builds those parts of a --plan that all jobs on language models share.
class ModelPlan {
public:
  /// The speed that a plan assumes for a rank. Decoding is limited by the memory bandwidth. The
  /// processing of prompts is limited by the speed of matrix products.
  struct Rates {
    double decode_bytes;  // bytes of memory read per second
    double prompt_flops;  // floating-point operations per second
    const char* on;       // the hardware that has this speed: "one core", "one GPU"
  };

  struct Work {
    lm::LmConfig model;
    lm::MemoryDemand demand;  // the plan sets its members device and matrices
    BatchNames names;
    std::string unit;               // "prompts"
    std::int64_t samples = 0;       // number of samples in the whole data set
    std::uint64_t other_bytes = 0;  // bytes of a rank in addition to the model and the batch
    const char* other_name = "";    // name of other_bytes: "prompts"
    std::vector<report::Plan::Memory> other_models{};  // bytes of a rank for each other model
    std::uint64_t disk = 0;  // upper bound of the bytes that the run writes
  };

  /// Reads from `config` only keys that all jobs share. `keys`, `model` and `machine` must outlive
  /// this object.
  ModelPlan(const Config& config, const JobKeys& keys, const ModelKeys& model,
            const PlanMachine& machine, Work work);

  report::Plan& plan() { return plan_; }
  const lm::MemoryDemand& demand() const { return work_.demand; }
  Rates rates() const;

  /// Adds to the plan which samples each group of ranks processes.
  void add_shares();

  /// Finds the smallest group of ranks and the largest batch that fit into memory. Call it before
  /// add_memory() and add_limits(), which show the result. With `is_auto`, also sets
  /// demand().batch_size to the batch that a run with the configured groups would choose.
  void find_batch(bool is_auto);

  /// Adds to the plan the memory of the rank that needs the most, and a note with the result of
  /// find_batch(). Unless each group is one rank, also adds one note per rank of a group, with the
  /// memory of this rank. If groups differ in size, each size gets these notes.
  void add_memory();
  /// Adds to the plan the estimated time of a phase. `seconds` is the time for all samples. If the
  /// run processes only a part of the samples (--only), this function reduces the time in
  /// proportion.
  void add_time(const char* what, double seconds, std::string basis);
  void add_seal_time();
  void add_limits();

private:
  ChunkPhase phase() const;
  std::int64_t headroom() const;
  std::string fewer_paths() const;

  const JobKeys& keys_;
  const ModelKeys& model_;
  const PlanMachine& machine_;
  Work work_;
  std::optional<lm::MemoryFit> fit_;
  SharedMemory memory_;
  report::Plan plan_;
};

}  // namespace mgpu::run
