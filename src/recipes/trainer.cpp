#include "trainer.hpp"

#include <memory>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/process_memory.hpp>
#include <mgpu/kernels/accumulate.hpp>
#include <mgpu/recipes/training_notes.hpp>
#include <mgpu/report/end_table.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/rank_memory.hpp>
#include <mgpu/tensor/device_memory.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::recipes {
namespace {

train::GradientArena gradient_arena(tensor::ParameterArena& parameters) {
  train::GradientArena arena{tensor::view_of(parameters.gradients()),
                             {},
                             std::make_shared<at::Tensor>(parameters.gradients())};
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    arena.parameters.push_back({static_cast<std::size_t>(parameters.span(p).begin),
                                static_cast<std::size_t>(parameters.span(p).count)});
  }
  return arena;
}

void add_on_device(BufferView into, BufferView from, CUstream_st* stream) {
  kernels::cuda::accumulate(
      {static_cast<float*>(into.data), static_cast<const float*>(from.data), into.count}, stream);
}

train::ReducerOptions reducer_options(const run::RunContext& run, const LoopSettings& settings) {
  train::ReducerOptions options;
  options.bucket_bytes = static_cast<std::size_t>(run.cluster.bucket_mb) << 20;
  options.lanes = settings.train.batch.layout ? static_cast<int>(settings.train.batch.lanes) : 0;
  if (run.device.kind == DeviceKind::cuda) options.add = add_on_device;
  return options;
}

}  // namespace

void keep_step_memory(const run::RunContext& run) {
  if (run.device.kind == DeviceKind::cpu)
    keep_heap(host_free_bytes() / static_cast<std::uint64_t>(run.topology.node().size()));
}

Trainer::Trainer(run::RunContext& run, const LoopSettings& settings, TrainTask& task)
    : run_(run),
      settings_(settings),
      task_(task),
      parameters_(task.objective().parameters()),
      optimizer_(parameters_, settings.optimizer.adamw),
      scaler_(settings.optimizer.mixed_precision == tensor::ComputeKind::f16),
      reducer_(run.communicator, gradient_arena(parameters_), reducer_options(run, settings)),
      loop_({task.objective(), optimizer_, scaler_, reducer_, run.topology.world(), run.clock},
            settings.train, settings.optimizer.schedule),
      curves_(settings.optimizer.schedule.max_steps, settings.planned_evaluations(),
              settings.evaluation_values, settings.splits_loss, settings.step_values),
      state_(parameters_, optimizer_, scaler_, curves_, task.kept_tensors()),
      checkpoints_(run.topology.world(), run.directory.path(),
                   {static_cast<int>(run.directory.attempt()), settings.checkpoint.keep}) {
  state_.data_crc = task.data_crc();
  state_.files = task.model_files();
}

run::JobOutcome Trainer::outcome(ExitCode exit) const {
  std::int64_t rows = 0;
  for (const train::MicroBatch& pass : loop_.micro_batches())
    rows += pass.count;
  run::JobOutcome outcome;
  outcome.exit = exit;
  outcome.done = state_.steps_done;
  outcome.total = max_steps();
  outcome.skipped = state_.steps_skipped;
  outcome.steps_here = steps_here_;
  outcome.samples_per_step = settings_.train.batch.global_batch;
  outcome.samples_here = steps_here_ * rows;
  outcome.step_phases = {"waiting for data", "waiting for ranks", "sampling", "rewards",
                         "teacher",          "forward",           "backward", "allreduce, exposed",
                         "optimizer"};
  outcome.pace = pace_;
  outcome.inputs = {
      {"data", report::text_of("CRC-32C %08x of the training data", state_.data_crc)}};
  return outcome;
}

void Trainer::restore() {
  const auto loading = run_.clock.enter("checkpoints");
  const double begin_s = run_.clock.elapsed_s();
  for (const std::string& warning : state_.load(checkpoints_))
    run_.log.event({"warn", {{"text", warning}}});
  cluster::run_together(run_.topology.world(), [&] { require_same_data(); });
  run_.log.event({"debug",
                  {{"text", "checkpoints were looked for, and the newest read, in " +
                                report::text_of("%.3f s", run_.clock.elapsed_s() - begin_s)}}});
  cluster::run_together(run_.topology.world(), [&] { task_.after_load(); });
  saved_at_ = state_.steps_done;
  if (run_.directory.is_resumed()) run_.scalars.resumed_at(state_.steps_done + 1);
  if (state_.steps_done > 0) {
    run_.log.event(
        {"note", {{"text", "continues after step " + std::to_string(state_.steps_done)}}});
  }
}

bool Trainer::train() {
  pace_.mark(state_.steps_done, run_.clock.elapsed_s());
  while (state_.steps_done < max_steps()) {
    const bool wants_stop = run_.stop.poll() != StopReason::none;
    step_began_s_ = run_.clock.elapsed_s();
    const train::StepOutcome outcome = step(wants_stop);
    curves_.add_step(state_.steps_done, outcome.row, task_.step_values());
    ++state_.steps_done;
    ++steps_here_;
    pace_.mark(state_.steps_done, run_.clock.elapsed_s());
    report(outcome);
    const bool is_best = evaluate_if_due();
    if (outcome.stop_asked || save_is_due(is_best)) save(is_best);
    clear_and_log_memory();
    if (outcome.stop_asked && state_.steps_done < max_steps()) return false;
  }
  return true;
}

/// Refuses to continue a training if the data have changed.
void Trainer::require_same_data() const {
  if (state_.data_crc == task_.data_crc()) return;
  const TrainTask::DataPlace place = task_.data_place();
  throw Failure(
      {"E608",
       ExitCode::cannot_create,
       place.what + " holds other " + place.noun + " than those that this run was trained on",
       {"  --> " + place.path,
        "  trained on them so far: " + std::to_string(state_.steps_done) + " steps"},
       "put the old file back, or start anew: --resume=never"});
}

/// Runs one step. The clock counts the parts of a step that belong to no other phase as "waiting
/// for ranks". Most of this time, the rank waits in run_together(), which checks that no rank has
/// failed.
train::StepOutcome Trainer::step(bool wants_stop) {
  activity().position.set("train, step " + std::to_string(state_.steps_done + 1));
  const auto agreeing = run_.clock.enter("waiting for ranks");
  return loop_.step(state_.steps_done, wants_stop);
}

void Trainer::log_step(const train::StepRow& row) {
  const std::int64_t step = state_.steps_done;
  Event event{"train",
              {{"step", step},
               {"total", max_steps()},
               {"loss", row.loss},
               {"grad", row.grad_norm},
               {"lr", row.learning_rate}}};
  for (std::size_t i = 0; i < settings_.step_values.size(); ++i)
    if (settings_.step_values[i].on_screen)
      event.fields.emplace_back(settings_.step_values[i].name, curves_.step_value(step - 1, i));
  run_.log.event(event);
}

void Trainer::report(const train::StepOutcome& outcome) {
  const auto logging = run_.clock.enter("logging");
  const std::int64_t step = state_.steps_done;
  log_step(outcome.row);
  if (outcome.is_skipped) ++state_.steps_skipped;
  report_trouble(outcome);
  run_.scalars.scalar("train/loss", step, outcome.row.loss);
  run_.scalars.scalar("train/learning_rate", step, outcome.row.learning_rate);
  run_.scalars.scalar("train/grad_norm", step, outcome.row.grad_norm);
  run_.scalars.scalar("train/" + settings_.accuracy_scalar, step, outcome.row.accuracy);
  for (std::size_t i = 0; i < settings_.step_values.size(); ++i)
    run_.scalars.scalar("train/" + settings_.step_values[i].scalar, step,
                        curves_.step_value(step - 1, i));
  run_.scalars.scalar("train/epoch", step,
                      static_cast<double>(step * settings_.train.batch.global_batch) /
                          static_cast<double>(task_.objective().epoch_size()));
  run_.scalars.scalar("perf/comm_exposed", step, outcome.exposed_wait_s);
  const double seconds = run_.clock.elapsed_s() - step_began_s_;
  run_.scalars.scalar("perf/step_ms", step, 1e3 * seconds);
  run_.scalars.scalar("perf/samples_per_second", step,
                      static_cast<double>(settings_.train.batch.global_batch) / seconds);
}

void Trainer::report_trouble(const train::StepOutcome& outcome) {
  const std::int64_t step = state_.steps_done;
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
                       report::text_of("%.0f", scaler_.scale())}}});
  }
}

void Trainer::clear_and_log_memory() {
  if (is_due(run_.cluster.clear_cache_every)) tensor::empty_device_cache(run_.device);
  if (!is_due(settings_.memory_every)) return;
  const auto ranks = run::gather_memory(run_.topology.world(), run_.device);
  report::RunSummary now;
  run::fill_memory(ranks, run_.topology, run_.device, now);
  run_.print(report::memory_lines(now));
  const bool on_gpu = run_.device.kind == DeviceKind::cuda;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const std::uint64_t bytes = on_gpu ? ranks[r].device.reserved : ranks[r].host_bytes;
    run_.scalars.scalar((on_gpu ? "gpu/memory_gib/" : "host/memory_gib/") + std::to_string(r),
                        state_.steps_done, static_cast<double>(bytes) / 0x1p30);
  }
}

/// Returns whether the number of steps done is a multiple of `every`; 0 means never.
bool Trainer::is_due(std::int64_t every) const {
  return every > 0 && state_.steps_done % every == 0;
}

/// Evaluates the model if an evaluation is due. Returns true if the current weights have the best
/// score so far.
bool Trainer::evaluate_if_due() {
  if (!settings_.evaluates_after(state_.steps_done)) return false;
  const TrainTask::Evaluation evaluation = task_.evaluate(state_.steps_done);
  curves_.add_evaluation(state_.steps_done, evaluation.values);
  if (!evaluation.score || *evaluation.score <= state_.best_score) return false;
  state_.best_score = *evaluation.score;
  return true;
}

bool Trainer::save_is_due(bool is_best) {
  return is_best || state_.steps_done == max_steps() || is_save_time() ||
         is_due(settings_.checkpoint.every);
}

/// Returns whether checkpoint.every_minutes have passed since this attempt saved its newest
/// checkpoint, or since the attempt began if it has saved no checkpoint. Clocks of ranks differ, so
/// the ranks must agree on the result. This agreement takes time, so the function checks the clock
/// at every 16th step only. It returns false at other steps, or if checkpoint.every_minutes is 0.
/// Ranks:  collective over the world.
bool Trainer::is_save_time() {
  constexpr std::int64_t kCheckEvery = 16;  // steps
  const double after_s = settings_.checkpoint.every_minutes * 60.0;
  if (after_s == 0.0 || state_.steps_done % kCheckEvery != 0) return false;
  const bool is_old = run_.clock.elapsed_s() - saved_s_ >= after_s;
  return run_.topology.world().all_reduce(std::int32_t{is_old ? 1 : 0}, cluster::ReduceOp::max) ==
         1;
}

void Trainer::save(bool is_best) {
  if (saved_at_ == state_.steps_done) return;
  const auto saving = run_.clock.enter("checkpoints");
  const double begin_s = run_.clock.elapsed_s();
  task_.before_save();
  state_.save(checkpoints_, settings_.train.batch.global_batch, is_best);
  saved_at_ = state_.steps_done;
  saved_s_ = run_.clock.elapsed_s();
  ++saves_;
  run_.log.event(
      {"save", {{"step", state_.steps_done}, {"seconds", run_.clock.elapsed_s() - begin_s}}});
  run_.sync_warnings();
}

report::BannerFacts batch_facts(const run::RunContext& run, const LoopSettings& settings,
                                const Trainer& trainer) {
  const auto& passes = trainer.loop().micro_batches();
  report::BannerFacts facts;
  facts.device = run.device.kind;
  facts.batch = {passes.front().count, std::ssize(passes), run.topology.num_groups(),
                 settings.train.batch.global_batch, settings.optimizer.schedule.max_steps};
  return facts;
}

void log_schedule(run::RunContext& run, const LoopSettings& settings, const Trainer& trainer) {
  const train::LrSchedule& schedule = settings.optimizer.schedule;
  if (schedule.warmup_steps > schedule.max_steps) {
    run.log.event({"note",
                   {{"text", "train.warmup_steps (" + std::to_string(schedule.warmup_steps) +
                                 ") is more than train.max_steps: the learning rate "
                                 "never reaches its peak"}}});
  }
  const auto& passes = trainer.loop().micro_batches();
  if (const std::string note = clipped_pass_note(settings, passes.front().count); !note.empty())
    run.log.event({"note", {{"text", note}}});
  run.log.event(
      {"debug",
       {{"text", "this rank has the items from " + std::to_string(passes.front().offset) + " to " +
                     std::to_string(passes.back().offset + passes.back().count - 1) +
                     " of each batch, in " + std::to_string(passes.size()) + " passes"}}});
}

}  // namespace mgpu::recipes
