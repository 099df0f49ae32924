#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/jobs/job.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

/// Job teacher computes the next-token distributions of a model for the rows of the data. In table
/// `samples` of results.h5, it stores the part of each distribution that teacher.targets selects.
/// Each group of ranks holds a copy of the model and works on chunks.
class TeacherJob final : public Job {
public:
  /// `config` must outlive the job.
  explicit TeacherJob(const Config& config) : config_(config), keys_(read_teacher_config(config)) {}

  const run::JobKeys& run_keys() const override { return keys_.run; }
  void check_files() const override;

  /// Returns checks of the model's folder and of the rows of the data.
  std::vector<run::FileCheck> file_checks() const override;

  /// Returns an estimate of the bytes of the journal and results.h5. It assumes one token per three
  /// bytes of the data.
  std::uint64_t disk_bytes() const override;
  report::Plan plan(const run::PlanMachine& machine) const override;
  run::JobOutcome run(run::RunContext& run) const override;
  run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                       const store::ChunkJournal& journal) const override;
  store::UpgradeChunk upgrade_chunks() const override;

private:
  /// Checks the data file, and the chat template that data.chat_template names, if any. Does not
  /// check other files of the model's folder.
  void check_inputs() const;

  const Config& config_;
  TeacherConfig keys_;
};

JobSpec teacher_job();

}  // namespace mgpu::jobs
