#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/jobs/job.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

/// Job collect samples solutions of questions, splits them into steps, and estimates the value of
/// each step from rollouts. With agents (collect.steps=latent), a step is the work of an agent, and
/// the value of a step is computed from the answers below the step's node. The job stores a tree
/// per question in table `samples` of results.h5. Each group of ranks holds a copy of the model.
/// The groups share the questions, in chunks.
class CollectJob final : public Job {
public:
  /// `config` must outlive the job.
  explicit CollectJob(const Config& config) : config_(config), keys_(read_collect_keys(config)) {}

  const run::JobKeys& run_keys() const override { return keys_.run; }
  void check_files() const override;

  /// Returns two checks: one of the model's folder, and one of all questions. The check of the
  /// questions tokenizes them.
  std::vector<run::FileCheck> file_checks() const override;

  /// Returns an estimate of the bytes of the journal and of results.h5. Returns 0 if the data has
  /// no questions or cannot be read.
  std::uint64_t disk_bytes() const override;

  /// Estimates memory, time and disk space of a run. It tokenizes all questions.
  /// Errors: those of check_files(), except that the weights of the model may be missing; those of
  ///         read_collect_inputs() and count_question_tokens().
  report::Plan plan(const run::PlanMachine& machine) const override;

  /// Makes the trees of all questions and writes results.h5.
  /// Ranks:  collective over the world.
  /// Errors: Failure E531 on all ranks for the first rows that cannot be used, if data.on_bad_row
  ///         is stop; those of run::RowPhase and store::seal().
  run::JobOutcome run(run::RunContext& run) const override;
  run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                       const store::ChunkJournal& journal) const override;

private:
  /// Checks the data file, the file of agents, and the chat template that data.chat_template names,
  /// if any. Does not check other files of the model's folder.
  void check_inputs() const;
  std::uint64_t state_bytes() const;

  const Config& config_;
  CollectKeys keys_;
};

JobSpec collect_job();

}  // namespace mgpu::jobs
