#include <mgpu/algorithms/lm_objective.hpp>

namespace mgpu::algorithms {

LmObjective::LmObjective(language::TrainableModel& model, const LmWindows& windows,
                         PhaseClock& clock)
    : model_(&model), windows_(&windows), clock_(&clock) {}

std::int64_t LmObjective::predictions(std::uint64_t first, std::int64_t count) const {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += windows_->predictions(windows_->window_at(first + static_cast<std::uint64_t>(i)));
  return sum;
}

train::PassSums LmObjective::add_gradients(std::uint64_t first, std::int64_t count,
                                           double grad_scale) {
  language::LmBatch batch;
  {
    const auto filling = clock_->enter("waiting for data");
    for (std::int64_t i = 0; i < count; ++i)
      windows_->append(windows_->window_at(first + static_cast<std::uint64_t>(i)), batch);
  }
  const language::LmSums sums = model_->add_gradients(batch, grad_scale, clock_);
  return {sums.loss, sums.predictions, sums.correct};
}

}  // namespace mgpu::algorithms
