#include <mgpu/base/check_together.hpp>
#include <mgpu/jobs/chunk_keys.hpp>
#include <mgpu/jobs/train_job.hpp>
#include <mgpu/report/banner.hpp>
#include <mgpu/train/batch_plan.hpp>
#include <mgpu/train/train_config.hpp>

#include "train_ad.hpp"
#include "train_lm.hpp"

namespace mgpu::jobs {
namespace {

void check_one_gpu(const Config& config) {
  if (!config.integers("devices.groups").empty()) {
    throw config.problem("E125", "devices.groups",
                         "job train does not shard its model: one GPU holds it",
                         "remove devices.groups");
  }
  if (config.integer("devices.gpus_per_model") == 1) return;
  throw config.problem("E125", "devices.gpus_per_model",
                       "job train does not shard its model: one GPU holds it",
                       "devices.gpus_per_model=1");
}

}  // namespace

void check_train_job(const Config& config, int ranks) {
  const auto check_recipe = trains_language_model(config) ? check_lm_training : check_ad_training;
  check_together({[&] { check_recipe(config, ranks); }, [&] { check_one_gpu(config); },
                  [&] { refuse_chunk_keys(config); }});
}

void check_train_files(const Config& config) {
  if (trains_language_model(config))
    check_lm_files(config);
  else
    check_ad_files(config);
}

std::vector<FileCheck> train_file_checks(const Config& config) {
  return trains_language_model(config) ? lm_file_checks(config) : ad_file_checks(config);
}

JobOutcome run_train_job(RunContext& run) {
  const int ranks = run.topology.world().size();
  const auto passes = train::plan_passes(train::read_train_config(run.config).batch, 0, ranks);
  run.say(report::training_block({ranks, run.device.kind, run.config.text("train.mixed_precision"),
                                  std::ssize(passes), run.device.index}));
  return trains_language_model(run.config) ? run_lm_training(run) : run_ad_training(run);
}

}  // namespace mgpu::jobs
