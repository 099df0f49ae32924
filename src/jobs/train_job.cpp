#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <ATen/ATen.h>

#include <mgpu/algorithms/ad_objective.hpp>
#include <mgpu/base/check_together.hpp>
#include <mgpu/base/config_problem.hpp>
#include <mgpu/jobs/rank_memory.hpp>
#include <mgpu/jobs/train_evaluate.hpp>
#include <mgpu/jobs/train_histories.hpp>
#include <mgpu/jobs/train_job.hpp>
#include <mgpu/jobs/train_results.hpp>
#include <mgpu/jobs/train_settings.hpp>
#include <mgpu/jobs/train_state.hpp>
#include <mgpu/kernels/add_into.hpp>
#include <mgpu/model/tensor_view.hpp>
#include <mgpu/report/end_table.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/train/gradient_reducer.hpp>

namespace mgpu::jobs {
namespace {

train::GradientArena gradient_arena(model::ParameterArena& parameters) {
  train::GradientArena arena{model::view_of(parameters.gradients()),
                             {},
                             std::make_shared<at::Tensor>(parameters.gradients())};
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    arena.parameters.push_back({static_cast<std::size_t>(parameters.span(p).begin),
                                static_cast<std::size_t>(parameters.span(p).count)});
  }
  return arena;
}

void add_on_device(BufferView into, BufferView from, CUstream_st* stream) {
  kernels::cuda::add_into(
      {static_cast<float*>(into.data), static_cast<const float*>(from.data), into.count}, stream);
}

train::ReducerOptions reducer_options(const RunContext& run, const TrainSettings& settings) {
  train::ReducerOptions options;
  options.bucket_bytes = static_cast<std::size_t>(run.cluster.bucket_mb) << 20;
  options.lanes = settings.train.batch.layout ? static_cast<int>(settings.train.batch.lanes) : 0;
  if (run.device.kind == DeviceKind::cuda) options.add = add_on_device;
  return options;
}

/// Model, optimizer and loop of one run, built in the order in which they depend on each other.
class Trainer {
public:
  Trainer(RunContext& run, const TrainSettings& settings, const data::Environment& environment,
          const data::HistorySet& histories)
      : run_(run),
        settings_(settings),
        environment_(environment),
        histories_crc_(data::crc_of(histories)),
        rules_(settings.window_rules(histories.shape())),
        windows_(environment, histories, rules_, settings.seed),
        model_(settings.model, run.device, settings.seed),
        objective_(model_, windows_, {settings.optimizer.label_smoothing, settings.seed},
                   run.clock),
        optimizer_(model_.parameters(), settings.optimizer.adamw),
        scaler_(settings.optimizer.mixed_precision == model::ComputeKind::f16),
        reducer_(run.communicator, gradient_arena(model_.parameters()),
                 reducer_options(run, settings)),
        loop_({objective_, optimizer_, scaler_, reducer_, run.topology.world(), run.clock},
              settings.train, settings.optimizer.schedule),
        curves_(settings.optimizer.schedule.max_steps, settings.planned_evaluations(),
                settings.evaluate.episodes),
        state_(model_.parameters(), optimizer_, scaler_, curves_),
        checkpoints_(run.topology.world(), run.directory.path(),
                     {static_cast<int>(run.directory.attempt()), settings.checkpoint.keep}) {
    state_.histories_crc = histories_crc_;
  }

  Player player() const { return {model_, environment_, rules_, settings_.seed}; }
  const data::WindowRules& rules() const { return rules_; }
  const TrainCurves& curves() const { return curves_; }
  const TrainState& state() const { return state_; }
  std::int64_t saves() const { return saves_; }
  const train::TrainLoop& loop() const { return loop_; }
  std::int64_t num_parameters() const { return model_.parameters().num_parameters(); }

  /// Where the training stands, for the end of the run.
  JobOutcome outcome(ExitCode exit) const {
    std::int64_t rows = 0;
    for (const train::Pass& pass : loop_.passes())
      rows += pass.count;
    JobOutcome outcome;
    outcome.exit = exit;
    outcome.done = state_.steps_done;
    outcome.total = max_steps();
    outcome.skipped = state_.steps_skipped;
    outcome.steps_here = steps_here_;
    outcome.samples_per_step = settings_.train.batch.global_batch;
    outcome.samples_here = steps_here_ * rows;
    outcome.pace = pace_;
    return outcome;
  }

  void restore() {
    const auto loading = run_.clock.enter("checkpoints");
    const double begin_s = run_.clock.elapsed_s();
    for (const std::string& warning : state_.load(checkpoints_))
      run_.log.event({"warn", {{"text", warning}}});
    cluster::run_together(run_.topology.world(), [&] { require_same_histories(); });
    run_.log.event({"debug",
                    {{"text", "checkpoints were looked for, and the newest read, in " +
                                  report::text_of("%.3f s", run_.clock.elapsed_s() - begin_s)}}});
    saved_at_ = state_.steps_done;
    if (run_.directory.is_resumed()) run_.scalars.resumed_at(state_.steps_done + 1);
    if (state_.steps_done > 0) {
      run_.log.event(
          {"note", {{"text", "continues after step " + std::to_string(state_.steps_done)}}});
    }
  }

  /// Trains to the end or until a stop; saves in both cases. Returns whether it is complete.
  bool train() {
    pace_.mark(state_.steps_done, run_.clock.elapsed_s());
    while (state_.steps_done < max_steps()) {
      const bool wants_stop = run_.stop.poll() != StopReason::none;
      step_began_s_ = run_.clock.elapsed_s();
      const train::StepOutcome outcome = step(wants_stop);
      curves_.add_step(state_.steps_done, outcome.row);
      ++state_.steps_done;
      ++steps_here_;
      pace_.mark(state_.steps_done, run_.clock.elapsed_s());
      report(outcome);
      const bool is_best = evaluate_if_due();
      if (outcome.stop_asked || save_is_due(is_best)) save(is_best);
      look_after_memory();
      if (outcome.stop_asked && state_.steps_done < max_steps()) return false;
    }
    return true;
  }

private:
  /// Half a training on some histories and half on others is neither.
  void require_same_histories() const {
    if (state_.histories_crc == histories_crc_) return;
    const bool is_given = !settings_.data.path.empty();
    throw Failure({"E608",
                   ExitCode::cannot_create,
                   std::string(is_given ? "the file of `data.path`" : "the run's histories.h5") +
                       " holds other histories than those that this run was trained on",
                   {"  --> " + (is_given ? settings_.data.path
                                         : (run_.directory.path() / "histories.h5").string()),
                    "  trained on them so far: " + std::to_string(state_.steps_done) + " steps"},
                   "put the old file back, or start anew: --resume=never"});
  }

  std::int64_t max_steps() const { return settings_.optimizer.schedule.max_steps; }

  /// What is in no phase of its own here is mostly the agreement that no rank has failed.
  train::StepOutcome step(bool wants_stop) {
    const auto agreeing = run_.clock.enter("waiting for ranks");
    return loop_.step(state_.steps_done, wants_stop);
  }

  void report(const train::StepOutcome& outcome) {
    const auto logging = run_.clock.enter("logging");
    const std::int64_t step = state_.steps_done;
    run_.log.event({"train",
                    {{"step", step},
                     {"total", max_steps()},
                     {"loss", outcome.row.loss},
                     {"grad", outcome.row.grad_norm},
                     {"lr", outcome.row.learning_rate}}});
    if (outcome.is_skipped) ++state_.steps_skipped;
    if (outcome.is_skipped || outcome.was_repeated) {
      run_.log.event(
          {"warn",
           {{"text",
             "step " + std::to_string(step) + ": the gradient was infinite or NaN" +
                 (outcome.is_skipped ? ", also when computed again: this batch is skipped"
                                     : ", but not when computed again: is a device faulty?")}}});
    } else if (!outcome.is_applied) {
      run_.log.event(
          {"note",
           {{"text", "step " + std::to_string(step) + ": fp16 overflow, the loss scale is now " +
                         std::to_string(scaler_.scale())}}});
    }
    run_.scalars.scalar("train/loss", step, outcome.row.loss);
    run_.scalars.scalar("train/learning_rate", step, outcome.row.learning_rate);
    run_.scalars.scalar("train/grad_norm", step, outcome.row.grad_norm);
    run_.scalars.scalar("train/mean_token_accuracy", step, outcome.row.accuracy);
    run_.scalars.scalar("train/epoch", step,
                        static_cast<double>(step * settings_.train.batch.global_batch) /
                            static_cast<double>(objective_.epoch_size()));
    run_.scalars.scalar("perf/comm_exposed", step, outcome.exposed_wait_s);
    const double seconds = run_.clock.elapsed_s() - step_began_s_;
    run_.scalars.scalar("perf/step_ms", step, 1e3 * seconds);
    run_.scalars.scalar("perf/samples_per_second", step,
                        static_cast<double>(settings_.train.batch.global_batch) / seconds);
  }

  void look_after_memory() {
    if (is_due(run_.cluster.clear_cache_every)) model::empty_device_cache(run_.device);
    if (!is_due(memory_every_)) return;
    const auto ranks = gather_memory(run_.topology.world(), run_.device);
    report::RunSummary now;
    show_memory(ranks, run_.topology, run_.device, now);
    run_.say(report::memory_lines(now));
    const bool on_gpu = run_.device.kind == DeviceKind::cuda;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      const std::uint64_t bytes = on_gpu ? ranks[r].device.reserved : ranks[r].host_bytes;
      run_.scalars.scalar((on_gpu ? "gpu/memory_gib/" : "host/memory_gib/") + std::to_string(r),
                          state_.steps_done, static_cast<double>(bytes) / 0x1p30);
    }
  }

  /// Whether the steps that are done are a multiple of `every`; 0 is never.
  bool is_due(std::int64_t every) const { return every > 0 && state_.steps_done % every == 0; }

  /// Returns whether these weights were evaluated and are the best so far.
  bool evaluate_if_due() {
    if (!is_due(settings_.train.eval_every)) return false;
    const EpisodeReturns returns = evaluate_now(run_, player(), settings_.evaluate);
    curves_.add_evaluation(state_.steps_done, returns);
    const double mean_return = mean(returns);
    const bool is_best = mean_return > state_.best_return;
    if (is_best) state_.best_return = mean_return;
    run_.log.event({"eval",
                    {{"step", state_.steps_done},
                     {"return", mean_return},
                     {"first episode", returns.front()},
                     {"last episode", returns.back()}}});
    run_.scalars.scalar("eval/return", state_.steps_done, mean_return);
    run_.scalars.scalar("eval/return_last_episode", state_.steps_done, returns.back());
    return is_best;
  }

  bool save_is_due(bool is_best) {
    return is_best || state_.steps_done == max_steps() || time_has_come() ||
           is_due(settings_.checkpoint.every);
  }

  /// Whether the last checkpoint is old; clocks differ, so all ranks ask, but not at every step.
  bool time_has_come() {
    constexpr std::int64_t kLookEvery = 16;  // steps
    const double after_s = settings_.checkpoint.every_minutes * 60.0;
    if (after_s == 0.0 || state_.steps_done % kLookEvery != 0) return false;
    const bool is_old = run_.clock.elapsed_s() - saved_s_ >= after_s;
    return run_.topology.world().all_reduce(std::int32_t{is_old ? 1 : 0}, cluster::ReduceOp::max) ==
           1;
  }

  void save(bool is_best) {
    if (saved_at_ == state_.steps_done) return;
    const auto saving = run_.clock.enter("checkpoints");
    const double begin_s = run_.clock.elapsed_s();
    state_.save(checkpoints_, settings_.train.batch.global_batch, is_best);
    saved_at_ = state_.steps_done;
    saved_s_ = run_.clock.elapsed_s();
    ++saves_;
    run_.log.event(
        {"save", {{"step", state_.steps_done}, {"seconds", run_.clock.elapsed_s() - begin_s}}});
    run_.meet();
  }

  RunContext& run_;
  const TrainSettings& settings_;
  const data::Environment& environment_;
  std::uint32_t histories_crc_;
  data::WindowRules rules_;
  data::TrainingWindows windows_;
  model::AdTransformer model_;
  algorithms::AdObjective objective_;
  train::Adamw optimizer_;
  train::LossScaler scaler_;
  train::GradientReducer reducer_;
  train::TrainLoop loop_;
  TrainCurves curves_;
  TrainState state_;
  store::CheckpointStore checkpoints_;
  std::int64_t memory_every_ = run_.config.integer("log.memory_every");  // steps
  report::StepPace pace_;
  double step_began_s_ = 0.0;  // on the run's clock
  std::int64_t steps_here_ = 0;
  std::int64_t saves_ = 0;
  std::int64_t saved_at_ = -1;  // steps done at the newest checkpoint
  double saved_s_ = 0.0;        // when, on the run's clock
};

void announce(RunContext& run, const TrainSettings& settings, const data::HistorySet& histories,
              const Trainer& trainer) {
  const data::WindowRules& rules = trainer.rules();
  const auto& passes = trainer.loop().passes();
  report::Facts facts;
  facts.device = run.device.kind;
  facts.batch = {passes.front().count, std::ssize(passes), run.topology.num_groups(),
                 settings.train.batch.global_batch, settings.optimizer.schedule.max_steps};
  facts.data = std::to_string(histories.size()) + " histories of " +
               std::to_string(histories.shape().episodes) + " episodes, mean return " +
               report::text_of("%.1f -> %.1f", data::mean_returns(histories).front(),
                               data::mean_returns(histories).back()) +
               "; " + std::to_string(trainer.num_parameters()) + " parameters";
  run.announce(facts);
  const train::LrSchedule& schedule = settings.optimizer.schedule;
  if (schedule.warmup_steps > schedule.max_steps) {
    run.log.event({"note",
                   {{"text", "train.warmup_steps (" + std::to_string(schedule.warmup_steps) +
                                 ") is more than train.max_steps: the learning rate "
                                 "never reaches its peak"}}});
  }
  run.log.event(
      {"debug",
       {{"text", "this rank has the items from " + std::to_string(passes.front().offset) + " to " +
                     std::to_string(passes.back().offset + passes.back().count - 1) +
                     " of each batch, in " + std::to_string(passes.size()) + " passes"}}});
  if (rules.tokens != settings.model.n_transit) {
    run.log.event(
        {"note",
         {{"text", "windows have " + std::to_string(rules.tokens) +
                       " tokens, not model.n_transit=" + std::to_string(settings.model.n_transit) +
                       ": whole episodes of the histories"}}});
  }
}

/// Whether the context is long enough, where keys say how long the histories are.
void check_windows(const Config& config) {
  const data::DataConfig data = data::read_data_config(config);
  if (!data.path.empty()) return;
  const auto environment = data::make_environment(data.env, data.env_split_seed);
  const auto kind =
      config.is("model.tokens", "step") ? data::TokenKind::step : data::TokenKind::transition;
  try {
    data::make_window_rules(kind, static_cast<int>(config.integer("model.n_transit")),
                            {data.streams, data.episodes, environment->horizon()});
  } catch (const Failure& failure) {
    const Report& report = failure.report();
    throw config.problem(report.code, "model.n_transit", report.sentence, report.help);
  }
}

void check_one_gpu(const Config& config) {
  if (!config.integers("devices.groups").empty()) {
    throw config.problem("E125", "devices.groups",
                         "the model of job train is small and not sharded: one GPU holds it",
                         "remove devices.groups");
  }
  if (config.integer("devices.gpus_per_model") == 1) return;
  throw config.problem("E125", "devices.gpus_per_model",
                       "the model of job train is small and not sharded: one GPU holds it",
                       "devices.gpus_per_model=1");
}

}  // namespace

void check_train_job(const Config& config, int ranks) {
  check_together({[&] { read_train_settings(config); }, [&] { train::check_batch(config, ranks); },
                  [&] { check_windows(config); }, [&] { check_one_gpu(config); }});
}

void check_train_files(const Config& config) {
  const std::string path = data::read_data_config(config).path;
  std::error_code missing;
  if (path.empty() || std::filesystem::is_regular_file(path, missing)) return;
  throw ConfigFailure({{"E603", "there is no such file: " + path, config.place("data.path"), "",
                        "data.path=null plays the histories first"}},
                      ExitCode::no_input);
}

std::vector<FileCheck> train_file_checks(const Config& config) {
  if (config.is("data.path", "null")) return {};
  return {{config.text("data.path"), [&config](const cluster::Group& world) {
             const TrainSettings settings = read_train_settings(config);
             const auto environment =
                 data::make_environment(settings.data.env, settings.data.env_split_seed);
             const data::HistorySet histories =
                 read_histories(world, settings.data.path, *environment);
             cluster::run_together(world, [&] { settings.window_rules(histories.shape()); });
             return report::grouped(static_cast<std::int64_t>(histories.size())) +
                    " histories of " + std::to_string(histories.shape().episodes) + " episodes";
           }}};
}

JobOutcome run_train_job(RunContext& run) {
  const TrainSettings settings = read_train_settings(run.config);
  run.say(report::training_block({run.topology.world().size(), run.device.kind,
                                  run.config.text("train.mixed_precision"),
                                  run.config.integer("train.gradient_accumulation_steps")}));
  const auto environment = data::make_environment(settings.data.env, settings.data.env_split_seed);
  const std::optional<data::HistorySet> histories =
      provide_histories(run, settings.data, *environment);
  if (!histories) {
    JobOutcome outcome;
    outcome.exit = ExitCode::stopped;
    outcome.total = settings.optimizer.schedule.max_steps;
    return outcome;
  }

  // Memory is taken here, and may be short on some ranks only.
  std::optional<Trainer> trainer_here;
  {
    const auto building = run.clock.enter("start-up");
    cluster::run_together(run.topology.world(),
                          [&] { trainer_here.emplace(run, settings, *environment, *histories); });
  }
  Trainer& trainer = *trainer_here;
  announce(run, settings, *histories, trainer);
  trainer.restore();
  if (!trainer.train()) return trainer.outcome(ExitCode::stopped);
  const auto evaluation = evaluate_finally(run, trainer.player(), settings.evaluate);
  if (!evaluation) return trainer.outcome(ExitCode::stopped);

  const EvaluationResult result =
      seal_results(run, *environment, *evaluation, trainer.curves(), trainer.state().steps_done);
  JobOutcome outcome = trainer.outcome(ExitCode::done);
  outcome.remarks = {{"checkpoints", std::to_string(trainer.saves()) + " saved"}};
  show_results({*environment, *histories, evaluation->grid, result, trainer.curves()}, outcome);
  return outcome;
}

}  // namespace mgpu::jobs
