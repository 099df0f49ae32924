#include "job.hpp"

#include <mgpu/config/check_together.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/recipes/recipe.hpp>
#include <mgpu/report/banner.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/store/checkpoint/checkpoint_config.hpp>
#include <mgpu/train/batch_plan.hpp>
#include <mgpu/train/optimizer_config.hpp>
#include <mgpu/train/train_config.hpp>

namespace mgpu::jobs {
namespace {

using recipes::recipe_of;

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

std::vector<AddKeys> train_job_keys() {
  std::vector<AddKeys> keys = recipes::recipe_keys();
  keys.insert(keys.end(), {recipes::add_recipe_key, add_data_path_key, train::add_train_keys,
                           train::add_optimizer_keys, store::add_checkpoint_keys});
  return keys;
}

void check_train_job(const Config& config, int ranks) {
  recipes::check_recipe(config);
  check_together({[&] { recipe_of(config).check(config, ranks); }, [&] { check_one_gpu(config); },
                  [&] { run::refuse_chunk_keys(config); }});
}

void check_train_files(const Config& config) {
  recipe_of(config).check_files(config);
}

std::vector<run::FileCheck> train_file_checks(const Config& config) {
  return recipe_of(config).file_checks(config);
}

std::uint64_t train_disk_bytes(const Config& config) {
  return recipe_of(config).disk_bytes(config);
}

report::Plan plan_train(const Config& config, const run::PlanMachine& machine) {
  check_train_files(config);
  return recipe_of(config).plan(config, machine);
}

run::JobOutcome run_train_job(run::RunContext& run) {
  const int ranks = run.topology.world().size();
  const auto passes = train::plan_passes(train::read_train_config(run.config).batch, 0, ranks);
  run.say(report::training_block({ranks, run.device.kind, run.config.text("train.mixed_precision"),
                                  std::ssize(passes), run.device.index}));
  return recipe_of(run.config).run(run);
}

run::MergedRun merge_train_job(const cluster::Group& world, const run::SealPlace& place,
                               const store::ChunkJournal& journal) {
  return recipe_of(place.config).merge(world, place, journal);
}

}  // namespace mgpu::jobs
