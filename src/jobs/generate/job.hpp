#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/jobs/job.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

/// Job generate stores completions of the prompts of the data in table `samples` of results.h5.
/// Each group of ranks holds a copy of the model and works on chunks.
class GenerateJob final : public Job {
public:
  /// `config` must outlive the job.
  explicit GenerateJob(const Config& config) : config_(config), keys_(read_generate_keys(config)) {}

  const run::JobKeys& run_keys() const override { return keys_.run; }
  void check_files() const override;

  /// Returns checks of the model's folder, of all prompts, and of the models that judge
  /// completions. The check of the prompts tokenizes every prompt.
  std::vector<run::FileCheck> file_checks() const override;

  /// Returns an estimate of the bytes of the journal and results.h5. Returns 0 if the data has no
  /// prompts or cannot be read.
  std::uint64_t disk_bytes() const override;

  /// Estimates memory, time and disk space of a run. It tokenizes all prompts.
  /// Errors: those of check_files() and count_tokens().
  report::Plan plan(const run::PlanMachine& machine) const override;

  /// Completes all prompts and writes results.h5.
  /// Ranks:  collective over the world.
  /// Errors: Failure E531 on all ranks if a row cannot be used and data.on_bad_row is stop, or if a
  ///         prompt is longer than the model's context and generate.beyond_context is stop. The
  ///         message shows the first five of these rows. Also those of run::RowPhase and
  ///         store::seal().
  run::JobOutcome run(run::RunContext& run) const override;
  run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                       const store::ChunkJournal& journal) const override;
  store::UpgradeChunk upgrade_chunks() const override;

private:
  /// Checks the data file, the chat template and the rewards, without any weights.
  void check_inputs() const;

  const Config& config_;
  GenerateKeys keys_;
};

JobSpec generate_job();

}  // namespace mgpu::jobs
