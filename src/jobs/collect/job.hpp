#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/jobs/job.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

/// Job collect samples solutions of questions, splits them into steps, and estimates the value of
/// each step from rollouts. With agents (collect.steps=latent), a step is the work of an agent, and
/// its value comes from the answers below it. The job stores a tree per question in table `samples`
/// of results.h5. Each group of ranks holds a copy of the model. The groups share the questions, in
/// chunks.
class CollectJob final : public Job {
public:
  /// `config` must outlive the job.
  explicit CollectJob(const Config& config) : config_(config), keys_(read_collect_keys(config)) {}

  const run::JobKeys& run_keys() const override { return keys_.run; }
  void check_files() const override;

  /// Returns checks of the model's folder and of all questions. The second check tokenizes the
  /// questions.
  std::vector<run::FileCheck> file_checks() const override;

  /// Returns an estimate of the bytes of the journal and of results.h5. Returns 0 if the data has
  /// no questions or cannot be read.
  std::uint64_t disk_bytes() const override;

  /// Estimates memory, time and disk space of a run. It tokenizes all questions.
  /// Errors: those of check_files(); Failure E531 for rows that cannot be used, if data.on_bad_row
  ///         is stop.
  report::Plan plan(const run::PlanMachine& machine) const override;

  /// Collects all questions and writes results.h5.
  /// Ranks:  collective over the world.
  /// Errors: Failure E531 on all ranks for the first rows that cannot be used, if data.on_bad_row
  ///         is stop; those of run::RowPhase and store::seal().
  run::JobOutcome run(run::RunContext& run) const override;
  run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                       const store::ChunkJournal& journal) const override;

private:
  /// Checks the files that check_files() checks. Of the model's folder, it checks only the chat
  /// template that data.chat_template names, if any.
  void check_inputs() const;
  std::uint64_t state_bytes() const;

  const Config& config_;
  CollectKeys keys_;
};

JobSpec collect_job();

}  // namespace mgpu::jobs
