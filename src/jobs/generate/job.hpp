#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/jobs/job.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

/// Job generate stores completions of the prompts of a file in table `samples` of results.h5. Each
/// group of ranks holds a model and works on chunks.
class GenerateJob final : public Job {
public:
  /// `config` must outlive the job.
  explicit GenerateJob(const Config& config) : config_(config), keys_(read_generate_keys(config)) {}

  const run::JobKeys& run_keys() const override { return keys_.run; }
  void check_files() const override;

  /// Checks the model's folder, and tokenizes all prompts.
  std::vector<run::FileCheck> file_checks() const override;

  /// Counts the journal and the sealed file. Returns 0 without prompts.
  std::uint64_t disk_bytes() const override;

  /// Tokenizes all prompts. Errors: also E531 for lines that cannot be used.
  report::Plan plan(const run::PlanMachine& machine) const override;

  /// Errors: also E531 with the first lines that cannot be used, on all ranks.
  run::JobOutcome run(run::RunContext& run) const override;
  run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                       const store::ChunkJournal& journal) const override;
  store::UpgradeChunk upgrade_chunks() const override;

private:
  const Config& config_;
  GenerateKeys keys_;
};

JobSpec generate_job();

}  // namespace mgpu::jobs
