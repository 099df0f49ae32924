#include "latent_recipe.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/missing_file.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/plan_parts.hpp>
#include <mgpu/store/results/list_column.hpp>
#include <mgpu/tensor/parameter_arena.hpp>

#include "latent_keys.hpp"
#include "recipes/lm/results.hpp"
#include "recipes/required_file.hpp"

namespace mgpu::recipes {
namespace {

using report::Plan;

constexpr double kAssumedFlops = 1e10;  // FLOP/s of a core in products of small matrices

LossMeaning latent_meaning(PrmLossKind kind) {
  LossMeaning meaning{.name = "binary cross-entropy of nodes",
                      .per = "node",
                      .is_cross_entropy = false,
                      .held_out_is_cross_entropy = false};
  if (kind == PrmLossKind::mse) {
    meaning.name = "squared error of nodes";
    meaning.unit = "";
  }
  if (kind == PrmLossKind::pairwise) {
    meaning.name = "-log sigmoid of the better minus the worse node";
    meaning.per = "pair of nodes";
  }
  return meaning;
}

ResultNames result_names(const PrmSettings& settings) {
  const bool has_pairs = settings.kind == PrmLossKind::pairwise;
  return {"held-out questions", has_pairs ? "pair accuracy" : "node accuracy",
          latent_meaning(settings.kind).unit};
}

void print_latent_banner(run::RunContext& run, const LatentSettings& settings,
                         const LatentData& data, const LatentTask& task, const Trainer& trainer) {
  report::BannerFacts facts = batch_facts(run, settings.loop, trainer);
  facts.data = description(data.training, settings.prm.threshold);
  if (data.held_out.size() > 0)
    facts.data += "; held out: " + description(data.held_out, settings.prm.threshold);
  facts.data += "; head of " + report::counted(trainer.num_parameters(), "parameter") + ", " +
                std::to_string(task.head().sizes().inputs) + " inputs";
  run.print_banner(facts);
  log_schedule(run, settings.loop, trainer);
}

store::SealRequest latent_results(const run::SealPlace& place, const PrmSettings& settings,
                                  const TrainCurves& curves, std::int64_t steps) {
  return lm_results(place, curves, steps, latent_meaning(settings.kind).unit,
                    PrmLoss::reported_values());
}

LmPlots latent_plots(const LatentSettings& settings, const LatentTask& task, std::int64_t steps) {
  LmPlots plots;
  const ResultNames names = result_names(settings.prm);
  plots.meaning = latent_meaning(settings.prm.kind);
  plots.held_out = names.held_out;
  plots.accuracy = names.accuracy;
  plots.epochs = static_cast<double>(steps * settings.loop.train.batch.global_batch) /
                 static_cast<double>(task.epoch_size());
  return plots;
}

}  // namespace

LatentPrmRecipe::LatentPrmRecipe(const Config& config)
    : config_(config), settings_(read_latent_settings(config)) {}

LatentHeadSizes LatentPrmRecipe::sizes() const {
  const std::int64_t inputs = latent_width(settings_.path);
  return {inputs, hidden_width(settings_.prm.latent_hidden, inputs)};
}

std::uint64_t LatentPrmRecipe::weight_bytes() const {
  return 4 * static_cast<std::uint64_t>(tensor::arena_size(latent_head_specs(sizes())));
}

void LatentPrmRecipe::check_files() const {
  require_file(config_, "data.path", settings_.path, "results.h5 of job collect");
  latent_width(settings_.path);
}

std::vector<run::FileCheck> LatentPrmRecipe::file_checks() const {
  return {{settings_.path, [this](const cluster::Group& world) {
             const LatentData data = load_latent_data(world, settings_.path, settings_.prm);
             return description(data.training, settings_.prm.threshold);
           }}};
}

std::uint64_t LatentPrmRecipe::disk_bytes() const {
  const LoopSettings& loop = settings_.loop;
  // Curves have at most six numbers of each step, and eight of each evaluation.
  const std::int64_t curves =
      8 * (6 * loop.optimizer.schedule.max_steps + 8 * loop.planned_evaluations());
  return static_cast<std::uint64_t>(loop.checkpoint.keep + 2) *
         (3 * weight_bytes() + static_cast<std::uint64_t>(curves));
}

Plan LatentPrmRecipe::plan(const run::PlanMachine& machine) const {
  const LoopSettings& loop = settings_.loop;
  Plan plan = run::begin_plan(config_, machine, "nodes");
  std::int64_t most = 0;
  for (int rank = 0; rank < machine.ranks; ++rank) {
    const auto passes =
        train::plan_micro_batches(loop.train.batch, rank, machine.ranks, machine.device);
    const std::int64_t end = passes.back().offset + passes.back().count;
    plan.shares.push_back({"rank " + std::to_string(rank), "batch", passes.front().offset,
                           end - passes.front().offset});
    for (const train::MicroBatch& pass : passes)
      most = std::max(most, pass.count);
  }
  const LatentHeadSizes head = sizes();
  const std::int64_t steps = store::ListColumn(settings_.path, "samples", "latents").items();
  const auto bytes = [](std::int64_t values) { return static_cast<std::uint64_t>(values) * 4; };
  plan.memory = {{"weights", weight_bytes()},
                 {"gradients", weight_bytes()},
                 {"optimizer", 2 * weight_bytes()},
                 {"latent states, at most", bytes(2 * steps * head.inputs)},
                 {"activations", bytes(most * (head.inputs + 4 * head.hidden))},
                 {"program", run::program_bytes(machine)}};
  run::add_memory_limit(plan, run::memory_of_ranks(config_, machine, "train.micro_batch_size"),
                        run::planned_bytes(plan), [] { return std::string(); });
  const double flops = 6.0 * static_cast<double>(head.inputs * head.hidden) *
                       static_cast<double>(loop.train.batch.global_batch) *
                       static_cast<double>(loop.optimizer.schedule.max_steps);
  plan.times.push_back({"training", flops / machine.ranks / kAssumedFlops,
                        report::text_of("%.3g FLOPs, %.0e FLOP/s", flops, kAssumedFlops)});
  run::add_limit(plan, "free disk", disk_bytes(), machine.disk_bytes, "run.output");
  return plan;
}

run::JobOutcome LatentPrmRecipe::run(run::RunContext& run) const {
  const cluster::Group& world = run.topology.world();
  LatentData data;
  {
    const auto reading = run.clock.enter("load");
    data = load_latent_data(world, settings_.path, settings_.prm);
  }
  std::optional<LatentTask> task;
  std::optional<Trainer> trainer;
  cluster::run_together(world, [&] {
    task.emplace(run, settings_, data);
    trainer.emplace(run, settings_.loop, *task);
  });
  print_latent_banner(run, settings_, data, *task, *trainer);
  trainer->restore();
  if (!trainer->train()) return trainer->outcome(ExitCode::stopped);
  const auto sealing = run.clock.enter("results");
  store::seal(world, latent_results({run.config, run.store, run.directory}, settings_.prm,
                                    trainer->curves(), trainer->state().steps_done));
  run::JobOutcome outcome = trainer->outcome(ExitCode::done);
  outcome.phase_notes = {{"checkpoints", std::to_string(trainer->saves()) + " saved"}};
  add_training_results(trainer->curves(), result_names(settings_.prm), PrmLoss::reported_values(),
                       latent_plots(settings_, *task, outcome.done), outcome);
  return outcome;
}

run::MergedRun LatentPrmRecipe::merge(const cluster::Group& world, const run::SealPlace& place,
                                      const store::ChunkJournal& /*journal*/) const {
  const LoopSettings& loop = settings_.loop;
  std::optional<LatentHead> head;
  cluster::run_together(world, [&] { head.emplace(sizes(), Device{}, loop.seed); });
  train::Adamw optimizer(head->parameters(), loop.optimizer.adamw);
  train::LossScaler scaler(false);
  TrainCurves curves(loop.optimizer.schedule.max_steps, loop.planned_evaluations(),
                     loop.evaluation_values);
  TrainState state(head->parameters(), optimizer, scaler, curves);
  run::MergedRun merged = merged_training(world, place, loop, state);
  store::SealRequest request = latent_results(place, settings_.prm, curves, state.steps_done);
  request.partial = true;
  store::seal(world, request);
  return merged;
}

}  // namespace mgpu::recipes
