#include <mgpu/lm/training/lm_objective.hpp>

#include "sequence_survey.hpp"

namespace mgpu::lm {

LmObjective::LmObjective(TrainableModel& model, LmItems& items, const TokenLoss& loss,
                         PhaseClock& clock)
    : model_(&model), items_(&items), loss_(&loss), clock_(&clock) {
  if (const SequenceLoss* sequences = loss.in_two_sweeps())
    survey_ = std::make_unique<SequenceSurvey>(model, items, *sequences, &clock);
}

LmObjective::~LmObjective() = default;

train::ItemSurvey* LmObjective::survey() {
  return survey_.get();
}

void LmObjective::prepare(std::uint64_t first, std::int64_t count) {
  if (!items_->are_made()) return;
  const auto sampling = clock_->enter("sampling");
  items_->make(*model_, first, count);
}

std::int64_t LmObjective::predictions(std::uint64_t first, std::int64_t count) const {
  if (survey_) return survey_->terms();
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i)
    sum += items_->predictions(first + static_cast<std::uint64_t>(i));
  return sum;
}

train::PassSums LmObjective::add_gradients(std::uint64_t first, std::int64_t count,
                                           double grad_scale) {
  ItemBatch items = fill_batch(*items_, first, count, clock_);
  if (survey_) items.batch.slopes = survey_->slopes(first, items);
  const LmSums sums = model_->add_gradients(items.batch, {grad_scale, clock_, loss_});
  return {sums.loss, sums.predictions, sums.correct, sums.cross_entropy};
}

std::span<const double> LmObjective::digest() const {
  return survey_ ? std::span(survey_->digest()) : std::span<const double>();
}

}  // namespace mgpu::lm
