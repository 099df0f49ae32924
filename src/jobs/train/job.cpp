#include "job.hpp"

#include <mgpu/config/check_together.hpp>
#include <mgpu/report/banner.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/train/batch_plan.hpp>
#include <mgpu/train/train_config.hpp>

#include "recipes/ad/plan.hpp"
#include "recipes/ad/train.hpp"
#include "recipes/lm/train.hpp"

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
  const auto check_recipe = recipes::trains_language_model(config) ? recipes::check_lm_training
                                                                   : recipes::check_ad_training;
  check_together({[&] { check_recipe(config, ranks); }, [&] { check_one_gpu(config); },
                  [&] { run::refuse_chunk_keys(config); }});
}

void check_train_files(const Config& config) {
  if (recipes::trains_language_model(config))
    recipes::check_lm_files(config);
  else
    recipes::check_ad_files(config);
}

std::vector<run::FileCheck> train_file_checks(const Config& config) {
  return recipes::trains_language_model(config) ? recipes::lm_file_checks(config)
                                                : recipes::ad_file_checks(config);
}

std::uint64_t train_disk_bytes(const Config& config) {
  return recipes::trains_language_model(config) ? recipes::lm_disk_bytes(config)
                                                : recipes::ad_disk_bytes(config);
}

report::Plan plan_train(const Config& config, const run::PlanMachine& machine) {
  check_train_files(config);
  return recipes::trains_language_model(config) ? recipes::plan_lm_training(config, machine)
                                                : recipes::plan_ad_training(config, machine);
}

run::JobOutcome run_train_job(run::RunContext& run) {
  const int ranks = run.topology.world().size();
  const auto passes = train::plan_passes(train::read_train_config(run.config).batch, 0, ranks);
  run.say(report::training_block({ranks, run.device.kind, run.config.text("train.mixed_precision"),
                                  std::ssize(passes), run.device.index}));
  return recipes::trains_language_model(run.config) ? recipes::run_lm_training(run)
                                                    : recipes::run_ad_training(run);
}

}  // namespace mgpu::jobs
