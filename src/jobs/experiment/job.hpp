#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/jobs/job.hpp>

#include "coordinator.hpp"
#include "keys.hpp"

namespace mgpu::jobs {

/// Job experiment runs other jobs, such as train and generate. Each run of such a job is a stage.
/// Several stages may run at the same time on different ranks.
class ExperimentJob final : public Job {
public:
  explicit ExperimentJob(const Config& config)
      : config_(config), keys_(read_experiment_config(config)) {}

  const run::JobKeys& run_keys() const override { return keys_.run; }
  void check_files() const override;
  std::vector<run::FileCheck> file_checks() const override;
  std::uint64_t disk_bytes() const override;
  report::Plan plan(const run::PlanMachine& machine) const override;
  run::JobOutcome run(run::RunContext& run) const override;
  run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                       const store::ChunkJournal& journal) const override;

private:
  const Config& config_;
  ExperimentConfig keys_;
};

}  // namespace mgpu::jobs
