#include "train_state.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <mgpu/base/error.hpp>
#include <mgpu/tensor/read_back.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::recipes {
namespace {

enum StepField : std::int64_t { loss, accuracy, learning_rate, grad_norm, num_fields };

formats::NamedTensor named(const std::string& name, const at::Tensor& tensor) {
  return {name, tensor.sizes().vec(), tensor::host_view_of(tensor)};
}

/// Returns the value that was saved under `name` with type T.
/// Errors: Failure E611 if the value is missing or has another type.
template <class T>
T value(const store::CheckpointState& state, const std::string& name) {
  const auto found = state.values.find(name);
  if (found == state.values.end() || !std::holds_alternative<T>(found->second)) {
    throw Failure(
        {"E611", ExitCode::corrupt, "the checkpoint's state lacks `" + name + "`", {}, ""});
  }
  return std::get<T>(found->second);
}

}  // namespace

TrainCurves::TrainCurves(std::int64_t max_steps, std::int64_t max_evaluations,
                         std::vector<std::string> value_names, bool has_cross_entropy,
                         std::vector<ReportedValue> step_values)
    : steps_(at::zeros({max_steps, num_fields}, at::kDouble)),
      cross_entropies_(has_cross_entropy ? at::zeros({max_steps}, at::kDouble) : at::Tensor()),
      step_values_(std::move(step_values)),
      step_value_rows_(at::zeros({max_steps, std::ssize(step_values_)}, at::kDouble)),
      value_names_(std::move(value_names)),
      evaluation_rows_(at::zeros({max_evaluations, 1 + std::ssize(value_names_)}, at::kDouble)) {}

void TrainCurves::add_step(std::int64_t step, const train::StepRow& row,
                           std::span<const double> values) {
  if (values.size() != step_values_.size()) throw Error("a step has other values");
  std::copy(values.begin(), values.end(),
            step_value_rows_.data_ptr<double>() + step * std::ssize(step_values_));
  double* fields = steps_.data_ptr<double>() + step * num_fields;
  fields[loss] = row.loss;
  fields[accuracy] = row.accuracy;
  fields[learning_rate] = row.learning_rate;
  fields[grad_norm] = row.grad_norm;
  if (has_cross_entropy()) cross_entropies_.data_ptr<double>()[step] = row.cross_entropy;
}

double TrainCurves::step_value(std::int64_t step, std::size_t index) const {
  return step_value_rows_
      .const_data_ptr<double>()[step * std::ssize(step_values_) + static_cast<std::int64_t>(index)];
}

train::StepRow TrainCurves::step(std::int64_t step) const {
  const double* fields = steps_.const_data_ptr<double>() + step * num_fields;
  const double apart = has_cross_entropy() ? cross_entropies_.const_data_ptr<double>()[step] : 0.0;
  return {fields[loss], fields[accuracy], fields[learning_rate], fields[grad_norm], apart};
}

void TrainCurves::add_evaluation(std::int64_t steps_done,
                                 const std::map<std::string, double>& values) {
  if (values.size() != value_names_.size()) throw Error("an evaluation has other values");
  if (evaluations_ >= evaluation_rows_.size(0)) throw Error("there is no room for an evaluation");
  double* row = evaluation_rows_.data_ptr<double>() + evaluations_ * evaluation_rows_.size(1);
  row[0] = static_cast<double>(steps_done);
  for (std::size_t i = 0; i < value_names_.size(); ++i) {
    const auto found = values.find(value_names_[i]);
    if (found == values.end()) throw Error("an evaluation lacks `" + value_names_[i] + "`");
    row[1 + i] = found->second;
  }
  ++evaluations_;
}

std::int64_t TrainCurves::evaluated_at(std::int64_t index) const {
  return static_cast<std::int64_t>(tensor::read_value<double>(evaluation_rows_[index][0]));
}

double TrainCurves::value(std::int64_t index, const std::string& name) const {
  const auto found = std::find(value_names_.begin(), value_names_.end(), name);
  if (found == value_names_.end()) throw Error("no value is called `" + name + "`");
  return tensor::read_value<double>(evaluation_rows_[index][1 + (found - value_names_.begin())]);
}

TrainState::TrainState(tensor::ParameterArena& parameters, train::Adamw& optimizer,
                       train::LossScaler& scaler, TrainCurves& curves, std::vector<KeptTensor> kept)
    : parameters_(&parameters),
      optimizer_(&optimizer),
      scaler_(&scaler),
      curves_(&curves),
      weights_(tensor::read_back(parameters.weights())),
      first_moment_(tensor::read_back(optimizer.first_moment())),
      second_moment_(tensor::read_back(optimizer.second_moment())),
      kept_(std::move(kept)) {
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const auto& span = parameters.span(p);
    model_tensors_.push_back(
        named(parameters.spec(p).name,
              weights_.narrow(0, span.begin, span.count).view(parameters.spec(p).shape)));
  }
  trainer_tensors_ = {named("adam.first_moment", first_moment_),
                      named("adam.second_moment", second_moment_),
                      named("curves.steps", curves.step_table()),
                      named("curves.evaluations", curves.evaluation_table())};
  if (curves.has_cross_entropy())
    trainer_tensors_.push_back(named("curves.cross_entropy", curves.cross_entropies()));
  if (!curves.step_values().empty())
    trainer_tensors_.push_back(named("curves.step_values", curves.step_value_table()));
  for (const KeptTensor& tensor : kept_)
    trainer_tensors_.push_back(named(tensor.name, tensor.values));
}

void TrainState::from_device() {
  if (!parameters_->weights().is_cuda()) return;  // on the CPU, read_back() made no copies
  tensor::read_into(weights_, parameters_->weights());
  tensor::read_into(first_moment_, optimizer_->first_moment());
  tensor::read_into(second_moment_, optimizer_->second_moment());
}

void TrainState::to_device() {
  if (!parameters_->weights().is_cuda()) return;
  const at::NoGradGuard no_grad;
  at::Tensor(parameters_->weights()).copy_(weights_);
  at::Tensor(optimizer_->first_moment()).copy_(first_moment_);
  at::Tensor(optimizer_->second_moment()).copy_(second_moment_);
}

void TrainState::save(const store::CheckpointStore& checkpoints, std::int64_t global_batch,
                      bool is_best) {
  from_device();
  store::CheckpointState state;
  state.step = steps_done;
  state.consumed_samples = steps_done * global_batch;
  if (best_score >= 0.0) state.best_metric = best_score;
  state.values = {{"adam.updates", optimizer_->updates()},
                  {"loss_scale", scaler_->state().scale},
                  {"loss_scale.good_updates", scaler_->state().good_updates},
                  {"evaluations", curves_->evaluations()},
                  {"steps_skipped", steps_skipped},
                  {"histories.crc32c", std::int64_t{data_crc}}};
  checkpoints.save({model_tensors_, trainer_tensors_, state, files}, is_best);
}

std::vector<std::string> TrainState::load(const store::CheckpointStore& checkpoints) {
  const store::Restored restored = checkpoints.load_newest(model_tensors_, trainer_tensors_);
  if (!restored.state) return restored.warnings;
  const store::CheckpointState& state = *restored.state;
  steps_done = state.step;
  best_score = state.best_metric.value_or(-1.0);
  optimizer_->set_updates(value<std::int64_t>(state, "adam.updates"));
  scaler_->restore(
      {value<double>(state, "loss_scale"), value<std::int64_t>(state, "loss_scale.good_updates")});
  curves_->set_evaluations(value<std::int64_t>(state, "evaluations"));
  steps_skipped = value<std::int64_t>(state, "steps_skipped");
  data_crc = static_cast<std::uint32_t>(value<std::int64_t>(state, "histories.crc32c"));
  to_device();
  return restored.warnings;
}

run::MergedRun merged_training(const cluster::Group& world, const run::SealPlace& place,
                               const LoopSettings& loop, TrainState& state) {
  run::MergedRun merged;
  merged.warnings =
      state.load({world,
                  place.directory.path(),
                  {static_cast<int>(place.directory.attempt()), loop.checkpoint.keep}});
  merged.parts = {{"training", state.steps_done, loop.optimizer.schedule.max_steps, "steps"}};
  return merged;
}

}  // namespace mgpu::recipes
