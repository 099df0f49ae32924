#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/lm/parallel/memory_plan.hpp>
#include <mgpu/report/plan_text.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/model_memory.hpp>
#include <mgpu/run/plan_machine.hpp>
#include <mgpu/run/plan_parts.hpp>

namespace mgpu::run {

std::int64_t num_parameters(const lm::LmConfig& config);

/// The plan of a job that runs a language model over samples, part by part: what all such jobs
/// plan alike.
class ModelPlan {
public:
  /// What a rank does in a second: products of decoding are as fast as memory is read, those of
  /// prompts as fast as it multiplies.
  struct Rates {
    double decode_bytes;
    double prompt_flops;
    const char* on;
  };

  struct Work {
    lm::LmConfig model;
    lm::MemoryDemand demand;  // device and matrices are filled in here
    BatchWords words;
    std::string unit;              // "prompts"
    std::int64_t samples = 0;      //
    std::uint64_t beside = 0;      // bytes of a rank beside model and batch
    const char* beside_name = "";  // "prompts"
    std::uint64_t disk = 0;        // bytes that the run writes at most
  };

  ModelPlan(const Config& config, const PlanMachine& machine, Work work);

  report::Plan& plan() { return plan_; }
  const lm::MemoryDemand& demand() const { return work_.demand; }
  const Rates& rates() const;

  void add_shares();

  /// The smallest group and largest batch that fit; with `is_auto` also the batch of a run.
  void find_batch(bool is_auto);

  /// The fullest rank; the others of its group are notes.
  void add_memory();
  /// `seconds` is for all samples, also where the run does a part of them.
  void add_time(const char* what, double seconds, std::string basis);
  void add_seal_time();
  void add_limits();

private:
  ChunkPhase phase() const;
  std::int64_t room() const;

  const Config& config_;
  JobKeys keys_;
  const PlanMachine& machine_;
  Work work_;
  std::vector<int> sizes_;  // of the groups, in turn
  lm::GroupPlan split_;
  std::optional<lm::MemoryFit> fit_;
  SharedMemory memory_;
  report::Plan plan_;
};

}  // namespace mgpu::run
