#include "job.hpp"

#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/config/check_all.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/recipes/recipe.hpp>
#include <mgpu/recipes/training_notes.hpp>
#include <mgpu/report/banner.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/store/checkpoint/checkpoint_config.hpp>
#include <mgpu/store/run_dir/store_config.hpp>
#include <mgpu/train/batch_plan.hpp>
#include <mgpu/train/optimizer_config.hpp>
#include <mgpu/train/train_config.hpp>

#include "error_pages.hpp"

namespace mgpu::jobs {
namespace {

void check_one_gpu(const Config& config) {
  if (!cluster::read_groups(config).empty()) {
    throw config.problem("E125", "devices.groups",
                         "job train does not shard its model: one GPU holds it",
                         "remove devices.groups");
  }
  if (cluster::read_gpus_per_model(config) == 1) return;
  throw config.problem("E125", "devices.gpus_per_model",
                       "job train does not shard its model: one GPU holds it",
                       "devices.gpus_per_model=1");
}

std::vector<AddKeys> keys_of_job() {
  std::vector<AddKeys> keys = recipes::recipe_keys();
  keys.insert(keys.end(), {recipes::add_recipe_key, add_data_path_key, train::add_train_keys,
                           train::add_optimizer_keys, store::add_checkpoint_keys});
  return keys;
}

void check_keys(const Config& config, int ranks) {
  recipes::check_recipe(config);
  const recipes::RecipeSpec& recipe = recipes::recipe_of(config);
  check_all({[&] { recipe.check(config, ranks); }, [&] { check_one_gpu(config); },
             [&] { store::refuse_result_file(config, recipe.files); },
             [&] { run::refuse_chunk_keys(config); }});
}

}  // namespace

JobSpec train_job() {
  return {.name = "train",
          .text = "Algorithm Distillation, or a language model on texts",
          .keys = keys_of_job(),
          .check = check_keys,
          .read = [](const Config& config) -> std::unique_ptr<Job> {
            return std::make_unique<TrainJob>(config);
          },
          .model_files =
              [](const Config& config) {
                return recipes::recipe_of(config).read(config)->model_files();
              },
          .errors = kTrainErrors};
}

TrainJob::TrainJob(const Config& config) : recipe_(recipes::recipe_of(config).read(config)) {}

void TrainJob::check_files() const {
  recipe_->check_files();
  recipe_->check_weights();
}

std::vector<run::FileCheck> TrainJob::file_checks() const {
  return recipe_->file_checks();
}

std::uint64_t TrainJob::disk_bytes() const {
  return recipe_->disk_bytes();
}

report::Plan TrainJob::plan(const run::PlanMachine& machine) const {
  recipe_->check_files();
  return recipe_->plan(machine);
}

run::JobOutcome TrainJob::run(run::RunContext& run) const {
  const int ranks = run.topology.world().size();
  const recipes::LoopSettings& loop = recipe_->loop();
  const auto passes = train::plan_micro_batches(loop.train.batch, 0, ranks, run.device.kind);
  run.print(report::training_block({ranks, run.device.kind,
                                    train::name_of(loop.optimizer.mixed_precision),
                                    std::ssize(passes), run.device.index}));
  run::JobOutcome outcome = recipe_->run(run);
  outcome.advise = [this, ranks, device = run.device.kind](const report::NoteFacts& facts) {
    return recipes::training_notes(facts, {.loop = recipe_->loop(),
                                           .ranks = ranks,
                                           .device = device,
                                           .makes_histories = recipe_->makes_histories(),
                                           .cheaper_evaluation = recipe_->cheaper_evaluation()});
  };
  return outcome;
}

run::MergedRun TrainJob::merge(const cluster::Group& world, const run::SealPlace& place,
                               const store::ChunkJournal& journal) const {
  return recipe_->merge(world, place, journal);
}

}  // namespace mgpu::jobs
