#include <optional>
#include <string>

#include <mgpu/ad/ad_objective.hpp>
#include <mgpu/base/missing_file.hpp>
#include <mgpu/config/check_all.hpp>
#include <mgpu/config/config_problem.hpp>
#include <mgpu/report/text_format.hpp>

#include "evaluate.hpp"
#include "histories.hpp"
#include "recipe.hpp"
#include "recipes/trainer.hpp"
#include "results.hpp"

namespace mgpu::recipes {
namespace {

/// The model, its training windows and its evaluation. The order of members matters: each one is
/// declared after those that it needs.
class AdTask final : public TrainTask {
public:
  AdTask(run::RunContext& run, const AdSettings& settings, const ad::Environment& environment,
         const ad::HistorySet& histories)
      : run_(run),
        settings_(settings),
        environment_(environment),
        histories_crc_(ad::crc_of(histories)),
        rules_(settings.window_rules(histories.shape())),
        windows_(environment, histories, rules_, settings.loop.seed),
        model_(settings.model, run.device, settings.loop.seed),
        objective_(model_, windows_, {settings.label_smoothing, settings.loop.seed}, run.clock) {}

  train::Objective& objective() override { return objective_; }
  std::uint32_t data_crc() const override { return histories_crc_; }

  DataPlace data_place() const override {
    if (!settings_.data.path.empty())
      return {"the file of `data.path`", "histories", settings_.data.path};
    return {"the run's histories.h5", "histories",
            (run_.directory.path() / kHistoriesFile).string()};
  }

  Evaluation evaluate(std::int64_t step) override {
    const EpisodeReturns returns = evaluate_now(run_, player(), settings_);
    const double mean_return = mean(returns);
    run_.log.event({"eval",
                    {{"step", step},
                     {"return", mean_return},
                     {"first episode", returns.front()},
                     {"last episode", returns.back()}}});
    run_.scalars.scalar("eval/return", step, mean_return);
    run_.scalars.scalar("eval/return_last_episode", step, returns.back());
    Evaluation evaluation{{}, mean_return};
    for (std::size_t e = 0; e < returns.size(); ++e)
      evaluation.values.emplace(return_name(static_cast<int>(e) + 1), returns[e]);
    return evaluation;
  }

  Player player() const { return {model_, environment_, rules_, settings_.loop.seed}; }
  const ad::WindowRules& rules() const { return rules_; }

private:
  run::RunContext& run_;
  const AdSettings& settings_;
  const ad::Environment& environment_;
  std::uint32_t histories_crc_;
  ad::WindowRules rules_;
  ad::TrainingWindows windows_;
  ad::AdTransformer model_;
  ad::AdObjective objective_;
};

void print_banner(run::RunContext& run, const AdSettings& settings, const ad::HistorySet& histories,
                  const Trainer& trainer, const ad::WindowRules& rules) {
  report::BannerFacts facts = batch_facts(run, settings.loop, trainer);
  facts.data = std::to_string(histories.size()) + " histories of " +
               std::to_string(histories.shape().episodes) + " episodes, mean return " +
               report::text_of("%.1f -> %.1f", ad::mean_returns(histories).front(),
                               ad::mean_returns(histories).back()) +
               "; " + std::to_string(trainer.num_parameters()) + " parameters";
  run.print_banner(facts);
  log_schedule(run, settings.loop, trainer);
  if (rules.tokens != settings.model.n_transit) {
    run.log.event(
        {"note",
         {{"text", "windows have " + std::to_string(rules.tokens) +
                       " tokens, not model.n_transit=" + std::to_string(settings.model.n_transit) +
                       ": whole episodes of the histories"}}});
  }
}

/// Checks that model.n_transit is large enough for the histories that the run plays. Histories from
/// data.path are checked later, because their length is not known yet.
void check_windows(const Config& config) {
  const ad::DataConfig data = ad::read_data_config(config);
  if (!data.path.empty()) return;
  const auto environment = ad::make_environment(data.env, data.env_split_seed);
  const ad::TokenKind kind = ad::read_token_kind(config);
  try {
    ad::make_window_rules(kind, static_cast<int>(ad::read_n_transit(config)),
                          {data.streams, data.episodes, environment->horizon()});
  } catch (const Failure& failure) {
    const ErrorReport& report = failure.report();
    throw config.problem(report.code, "model.n_transit", report.sentence, report.help);
  }
}

}  // namespace

void check_ad_keys(const Config& config, int ranks) {
  check_all({[&] { read_ad_settings(config); }, [&] { train::check_batch(config, ranks); },
             [&] { check_windows(config); },
             [&] { refuse_keys_of_other_recipes(config, recipe_of(config)); }});
}

void AdRecipe::check_files() const {
  const std::string& path = settings_.data.path;
  if (path.empty()) return;
  const auto refuse = [&](const char* code, ExitCode exit, const std::string& why) {
    throw ConfigFailure(
        {{code, why, config_.place("data.path"), "",
          "histories.h5 of another run, or data.path=null, which plays the histories first"}},
        exit);
  };
  if (const auto missing = missing_file(path)) refuse("E603", ExitCode::no_input, *missing);
  if (!store::looks_like_hdf5(path))
    refuse("E605", ExitCode::data, "this is no HDF5 file: " + path);
}

std::vector<run::FileCheck> AdRecipe::file_checks() const {
  if (settings_.data.path.empty()) return {};
  return {{settings_.data.path, [this](const cluster::Group& world) {
             const auto environment =
                 ad::make_environment(settings_.data.env, settings_.data.env_split_seed);
             const ad::HistorySet histories =
                 read_histories(world, settings_.data.path, *environment);
             cluster::run_together(world, [&] { settings_.window_rules(histories.shape()); });
             return report::grouped(static_cast<std::int64_t>(histories.size())) +
                    " histories of " + std::to_string(histories.shape().episodes) + " episodes";
           }}};
}

run::JobOutcome AdRecipe::run(run::RunContext& run) const {
  const AdSettings& settings = settings_;
  const auto environment = ad::make_environment(settings.data.env, settings.data.env_split_seed);
  const std::optional<ad::HistorySet> histories = provide_histories(run, settings, *environment);
  if (!histories) {
    run::JobOutcome outcome;
    outcome.exit = ExitCode::stopped;
    outcome.total = settings.loop.optimizer.schedule.max_steps;
    return outcome;
  }

  // The task allocates memory, which may fail on some ranks only. If it fails on any rank,
  // run_together() throws on all ranks.
  std::optional<AdTask> task;
  std::optional<Trainer> trainer_here;
  {
    const auto building = run.clock.enter("start-up");
    cluster::run_together(run.topology.world(), [&] {
      keep_step_memory(run);
      task.emplace(run, settings, *environment, *histories);
      trainer_here.emplace(run, settings.loop, *task);
    });
  }
  Trainer& trainer = *trainer_here;
  print_banner(run, settings, *histories, trainer, task->rules());
  trainer.restore();
  if (!trainer.train()) return trainer.outcome(ExitCode::stopped);
  const auto evaluation = evaluate_finally(run, task->player(), settings);
  if (!evaluation) return trainer.outcome(ExitCode::stopped);

  const EvaluationResult result =
      seal_results(run, *environment, *evaluation, trainer.curves(), trainer.state().steps_done);
  run::JobOutcome outcome = trainer.outcome(ExitCode::done);
  outcome.phase_notes = {{"checkpoints", std::to_string(trainer.saves()) + " saved"}};
  add_training_results(run, {*environment, *histories, evaluation->grid, result, trainer.curves()},
                       outcome);
  return outcome;
}

}  // namespace mgpu::recipes
