#include <mgpu/algorithms/lm_objective.hpp>

namespace mgpu::algorithms {

LmObjective::LmObjective(language::TrainableModel& model, const LmWindows& windows,
                         PhaseClock& clock, const LmDistillation* distillation)
    : model_(&model), windows_(&windows), clock_(&clock), distillation_(distillation) {}

std::int64_t LmObjective::predictions(std::uint64_t first, std::int64_t count) const {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += windows_->predictions(windows_->window_at(first + static_cast<std::uint64_t>(i)));
  return sum;
}

void LmObjective::append(std::size_t window, language::LmBatch& batch) const {
  std::size_t token = batch.targets.size();
  windows_->append(window, batch);
  if (distillation_ == nullptr || distillation_->stored == nullptr) return;
  for (const std::size_t example : windows_->examples_of(window)) {
    const auto length = static_cast<std::size_t>(windows_->examples().length(example));
    distillation_->stored->append(example, std::span(batch.targets).subspan(token, length),
                                  batch.teacher);
    token += length;
  }
}

train::PassSums LmObjective::add_gradients(std::uint64_t first, std::int64_t count,
                                           double grad_scale) {
  language::LmBatch batch;
  {
    const auto filling = clock_->enter("waiting for data");
    for (std::int64_t i = 0; i < count; ++i)
      append(windows_->window_at(first + static_cast<std::uint64_t>(i)), batch);
  }
  const language::Distillation* how = distillation_ == nullptr ? nullptr : &distillation_->how;
  const language::LmSums sums = model_->add_gradients(batch, {grad_scale, clock_, how});
  return {sums.loss, sums.predictions, sums.correct};
}

}  // namespace mgpu::algorithms
