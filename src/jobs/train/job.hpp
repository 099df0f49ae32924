#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <mgpu/jobs/job.hpp>
#include <mgpu/recipes/recipe.hpp>

namespace mgpu::jobs {

/// Job train trains a model. It forwards each call to the recipe that the key train.recipe chooses.
class TrainJob final : public Job {
public:
  /// `config` must outlive the job.
  explicit TrainJob(const Config& config);

  const run::JobKeys& run_keys() const override { return recipe_->loop(); }
  void check_files() const override;
  std::vector<run::FileCheck> file_checks() const override;
  std::uint64_t disk_bytes() const override;
  report::Plan plan(const run::PlanMachine& machine) const override;
  run::JobOutcome run(run::RunContext& run) const override;
  run::MergedRun merge(const cluster::Group& world, const run::SealPlace& place,
                       const store::ChunkJournal& journal) const override;

private:
  std::unique_ptr<recipes::Recipe> recipe_;
};

JobSpec train_job();

}  // namespace mgpu::jobs
