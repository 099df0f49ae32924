#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <new>
#include <span>
#include <string>

#include <ATen/ATen.h>

#include <mgpu/base/failpoint.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/read_back.hpp>
#include <mgpu/train/train_loop.hpp>

#include "pass_memory.hpp"

namespace mgpu::train {
namespace {

/// Number of slots for the sums of one part of the batch. If BatchShape::layout is set, a part is a
/// lane, otherwise the items of a rank. Every part has separate slots, and only one rank adds a
/// number other than 0 to a slot. So the totals do not depend on the order of MPI's additions.
constexpr std::size_t kSlots = 3;

std::size_t num_parts(const BatchShape& batch, int ranks) {
  return static_cast<std::size_t>(batch.layout ? batch.lanes : ranks);
}

/// If failpoint train.gradient is set, sets the first element of the gradient to NaN. Tests use
/// this failpoint to see how steps react to NaN.
void maybe_poison(const at::Tensor& gradients) {
  if (failpoint("train.gradient").error != 0) {
    gradients.narrow(0, 0, 1).fill_(std::numeric_limits<float>::quiet_NaN());
  }
}

std::int64_t largest_pass(const std::vector<MicroBatch>& passes) {
  return std::ranges::max_element(passes, {}, &MicroBatch::count)->count;
}

DeviceKind kind_of(const at::Tensor& tensor) {
  return tensor::runs_on_gpu(tensor) ? DeviceKind::cuda : DeviceKind::cpu;
}

CUstream_st* producer_of(const at::Tensor& tensor) {
  return tensor.is_cuda() ? tensor::current_stream(tensor) : nullptr;
}

}  // namespace

TrainLoop::TrainLoop(const Parts& parts, const TrainConfig& config, const LrSchedule& schedule)
    : parts_(parts),
      config_(config),
      schedule_(schedule),
      micro_batches_(plan_micro_batches(config.batch, parts.group.rank(), parts.group.size(),
                                        kind_of(parts.objective.parameters().weights()))) {
  parts_.objective.parameters().on_gradient_ready(
      [&reducer = parts_.reducer](std::size_t parameter) { reducer.mark_ready(parameter); });
}

/// Returns the number of predictions of the global batch that begins with item `first`. If the
/// objective generates items, each rank first generates its share. If the objective generates items
/// and has no ItemSurvey, the ranks add up the predictions of their shares. Otherwise each rank
/// gets the number from measured().
/// Ranks:  collective over the group.
double TrainLoop::predictions(std::int64_t first) {
  Objective& objective = parts_.objective;
  if (!objective.makes_items()) return measured(first);
  make_items(first);
  if (objective.survey() != nullptr) return measured(first);
  std::int64_t here = 0;
  cluster::run_together(parts_.group, [&] { here = own_predictions(first); });
  return static_cast<double>(parts_.group.all_reduce(here, cluster::ReduceOp::sum));
}

/// Returns the number of predictions of the global batch that begins with item `first`, which every
/// rank can compute. If the objective has an ItemSurvey, first lets it measure this batch.
/// Ranks:  collective over the group.
double TrainLoop::measured(std::int64_t first) {
  survey(first);
  return static_cast<double>(
      parts_.objective.predictions(static_cast<std::uint64_t>(first), config_.batch.global_batch));
}

/// Generates this rank's items of the global batch that begins with item `first`. One call is
/// enough, because the passes of a rank cover one range of consecutive items.
/// Ranks:  collective over the group.
void TrainLoop::make_items(std::int64_t first) {
  cluster::run_together(parts_.group, [&] {
    parts_.objective.prepare(static_cast<std::uint64_t>(first + micro_batches_.front().offset),
                             own_items());
  });
  replace_items();
}

/// Runs the rounds of the objective's ItemRounds, if it has one.
/// Ranks:  collective over the group.
void TrainLoop::replace_items() {
  ItemRounds* rounds = parts_.objective.rounds();
  for (bool is_next = rounds != nullptr; is_next;) {
    std::string mine;
    cluster::run_together(parts_.group, [&] { mine = rounds->result(); });
    const std::vector<std::string> results = from_all(mine);
    cluster::run_together(parts_.group, [&] {
      is_next = rounds->read(results);
      if (is_next) rounds->make();
    });
  }
}

/// Returns the argument `mine` of each rank, in the order of ranks.
/// Ranks:  collective over the group.
std::vector<std::string> TrainLoop::from_all(const std::string& mine) const {
  const auto waiting = parts_.clock.enter("allreduce, exposed");
  return parts_.group.all_gather(mine);
}

std::int64_t TrainLoop::own_predictions(std::int64_t first) const {
  return parts_.objective.predictions(
      static_cast<std::uint64_t>(first + micro_batches_.front().offset), own_items());
}

std::int64_t TrainLoop::own_items() const {
  return micro_batches_.back().offset + micro_batches_.back().count - micro_batches_.front().offset;
}

/// Does nothing if the objective has no ItemSurvey. Otherwise measures this rank's items of the
/// global batch that begins with item `first`, before any gradient is computed. Then passes the
/// results of all ranks to the survey on each rank.
/// Ranks:  collective over the group.
void TrainLoop::survey(std::int64_t first) {
  ItemSurvey* survey = parts_.objective.survey();
  if (survey == nullptr) return;
  std::string mine;
  cluster::run_together(parts_.group, [&] {
    survey->clear();
    for (const MicroBatch& pass : micro_batches_)
      survey->measure(static_cast<std::uint64_t>(first + pass.offset), pass.count);
    mine = survey->result();
  });
  const std::vector<std::string> results = from_all(mine);
  cluster::run_together(parts_.group, [&] { survey->read(results); });
}

void TrainLoop::run_passes(const Batch& batch, std::vector<double>& sums, double& exposed_wait_s) {
  tensor::ParameterArena& parameters = parts_.objective.parameters();
  parameters.zero_gradients();
  const std::int64_t lane_size = config_.batch.global_batch / config_.batch.lanes;
  for (std::size_t p = 0; p < micro_batches_.size(); ++p) {
    const MicroBatch& pass = micro_batches_[p];
    const bool is_last = p + 1 == micro_batches_.size();
    parts_.reducer.begin_pass(is_last, producer_of(parameters.gradients()));
    // This failpoint lets tests kill or delay a rank here, or make it run out of memory.
    if (failpoint("train.pass").error == ENOMEM) throw std::bad_alloc();
    const PassSums done = parts_.objective.add_gradients(
        static_cast<std::uint64_t>(batch.first + pass.offset), pass.count, batch.grad_scale);
    const auto part = static_cast<std::size_t>(config_.batch.layout ? pass.offset / lane_size
                                                                    : parts_.group.rank());
    sums[part * kSlots] += done.loss;
    sums[part * kSlots + 1] += static_cast<double>(done.correct);
    sums[part * kSlots + 2] += done.cross_entropy;
    if (config_.batch.layout && pass.ends_lane && !is_last) parts_.reducer.end_lane();
  }
  const auto waiting = parts_.clock.enter("allreduce, exposed");
  exposed_wait_s += parts_.reducer.finish();
  maybe_poison(parameters.gradients());
}

TrainLoop::Sums TrainLoop::compute_gradients(const Batch& batch, bool stop_asked,
                                             double& exposed_wait_s) {
  const std::size_t parts = num_parts(config_.batch, parts_.group.size());
  std::vector<double> sums(parts * kSlots + 1, 0.0);
  cluster::run_together(parts_.group, [&] {
    const std::exception_ptr failure =
        cluster::failure_of([&] { run_passes(batch, sums, exposed_wait_s); });
    if (!failure) return;
    ErrorReport report = report_of(failure);
    const bool is_memory = report.exit == ExitCode::out_of_memory;
    if (is_memory)
      report = pass_out_of_memory(report, parts_.group.rank(), largest_pass(micro_batches_),
                                  parts_.objective.parameters(), parts_.optimizer);
    if (!parts_.reducer.drain()) throw cluster::DivergedFailure(report);
    if (is_memory) throw Failure(report);
    std::rethrow_exception(failure);
  });
  const auto waiting = parts_.clock.enter("allreduce, exposed");
  sums.back() = stop_asked ? 1.0 : 0.0;
  parts_.group.all_reduce(std::span(sums));
  Sums total;
  for (std::size_t part = 0; part < parts; ++part) {
    total.loss += sums[part * kSlots];
    total.correct += sums[part * kSlots + 1];
    total.cross_entropy += sums[part * kSlots + 2];
  }
  total.stop_asked = sums.back() > 0.0;
  return total;
}

StepOutcome TrainLoop::step(std::int64_t step, bool stop_asked) {
  const std::int64_t first = step * config_.batch.global_batch;
  double predictions = this->predictions(first);
  const double scale = parts_.scaler.scale();
  StepOutcome outcome;
  outcome.row.learning_rate = schedule_.at(step);
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt > 0 && parts_.objective.survey() != nullptr) predictions = measured(first);
    const Sums sums =
        compute_gradients({first, scale / predictions}, stop_asked, outcome.exposed_wait_s);
    const auto updating = parts_.clock.enter("optimizer");
    outcome.row.loss = sums.loss / predictions;
    outcome.row.accuracy = sums.correct / predictions;
    outcome.row.cross_entropy = sums.cross_entropy / predictions;
    outcome.stop_asked = outcome.stop_asked || sums.stop_asked;
    const UpdateReport update =
        std::isfinite(sums.loss)
            ? parts_.optimizer.step(
                  outcome.row.learning_rate, 1.0 / scale,
                  [this](bool is_finite) { return holds_on_all_ranks(is_finite); })
            : UpdateReport{std::numeric_limits<double>::quiet_NaN(), /*is_applied=*/false};
    outcome.row.grad_norm = update.grad_norm;
    outcome.is_applied = update.is_applied;
    outcome.was_repeated = attempt > 0 && update.is_applied;
    if (!update.is_applied && !parts_.scaler.can_shrink()) continue;
    parts_.scaler.update(update.is_applied);
    if (outcome.was_repeated) count_repetition(step);
    return outcome;
  }
  if (skipped_ == config_.max_skipped) give_up(step);
  ++skipped_;
  outcome.is_skipped = true;
  return outcome;
}

/// Returns whether `here` is true on all ranks. Because of this agreement, all ranks skip or update
/// together, even if only one faulty device sees NaN.
/// Ranks:  collective over the group.
bool TrainLoop::holds_on_all_ranks(bool here) const {
  return parts_.group.all_reduce(std::int32_t{here ? 1 : 0}, cluster::ReduceOp::min) == 1;
}

void TrainLoop::fail(const ErrorReport& report) const {
  cluster::run_together(parts_.group, [&] { throw Failure(report); });
  throw Failure(report);
}

/// Counts a gradient that was not finite at first, but was finite when it was computed again. Fails
/// at the second such gradient. A single fault may be a random bit flip, but after two faults a
/// device is not reliable.
void TrainLoop::count_repetition(std::int64_t step) {
  if (++repetitions_ < 2) return;
  fail({"E707",
        ExitCode::corrupt,
        "the gradient of step " + std::to_string(step + 1) +
            " was infinite or NaN and, computed again from the same inputs, was not",
        {"  this happened twice: a device or its memory gives wrong numbers"},
        "look at the devices of repro/ranks.csv; the last checkpoint is from before this step"});
}

void TrainLoop::give_up(std::int64_t step) const {
  const tensor::ParameterArena& parameters = parts_.objective.parameters();
  std::string name = "none of the sums, but their norm or the loss";
  for (std::size_t p = parameters.size(); p-- > 0;) {
    if (!tensor::read_value<bool>(parameters.gradient(p).isfinite().all()))
      name = parameters.spec(p).name;
  }
  const std::int64_t first = step * config_.batch.global_batch;
  const ErrorReport report{
      "E703",
      ExitCode::numeric,
      "the gradient of step " + std::to_string(step + 1) +
          " is infinite or NaN, also when computed again",
      {"  first tensor: " + name,
       "  items " + std::to_string(first) + " to " +
           std::to_string(first + config_.batch.global_batch - 1) +
           " of the training; the weights were not changed",
       "  steps that were skipped for this before: " + std::to_string(skipped_)},
      "train.learning_rate=" + std::to_string(schedule_.peak / 3.0) +
          ", or train.max_grad_norm=1.0"};
  fail(report);
}

}  // namespace mgpu::train
