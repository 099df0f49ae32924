#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/jobs/job.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

/// Job classify stores a label for each text of the data in table `samples` of results.h5, and
/// metrics in further tables. Each group of ranks holds a copy of the model and works on chunks.
class ClassifyJob final : public Job {
public:
  /// `config` must outlive the job.
  explicit ClassifyJob(const Config& config)
      : config_(config), keys_(read_classify_config(config)) {}

  const run::JobKeys& run_keys() const override { return keys_.run; }
  void check_files() const override;

  /// Returns two checks: one of the model's folder, and one of the data and the prompt strategy.
  std::vector<run::FileCheck> file_checks() const override;
  std::uint64_t disk_bytes() const override;
  report::Plan plan(const run::PlanMachine& machine) const override;
  run::JobOutcome run(run::RunContext& run) const override;
  run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                       const store::ChunkJournal& journal) const override;
  store::UpgradeChunk upgrade_chunks() const override;

private:
  /// Checks the data file, the file of prompt strategies, and the chat template that
  /// data.chat_template names, if any. Does not check other files of the model's folder.
  void check_inputs() const;

  const Config& config_;
  ClassifyConfig keys_;
};

JobSpec classify_job();

}  // namespace mgpu::jobs
