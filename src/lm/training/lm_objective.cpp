#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/training/lm_objective.hpp>

namespace mgpu::lm {
namespace {

void append_drawn(const OnPolicyTexts::Text& text, LmBatch& batch) {
  const std::span<const std::int64_t> ids = text.ids;
  batch.runs.push_back({ids});
  for (std::int64_t i = 1; i < std::ssize(ids); ++i)
    batch.targets.push_back(i < text.prompt ? kernels::kIgnoreTarget
                                            : ids[static_cast<std::size_t>(i)]);
  batch.targets.push_back(kernels::kIgnoreTarget);
}

}  // namespace

LmObjective::LmObjective(TrainableModel& model, const LmWindows& windows, PhaseClock& clock,
                         const LmDistillation* distillation)
    : model_(&model), windows_(&windows), clock_(&clock), distillation_(distillation) {
  if (distillation != nullptr && distillation->on_policy)
    texts_.emplace(*distillation->on_policy, windows);
}

void LmObjective::prepare(std::uint64_t first, std::int64_t count) {
  if (!texts_) return;
  const auto sampling = clock_->enter("sampling");
  texts_->draw(*model_, first, count);
}

/// nullptr: the example is the data's.
const OnPolicyTexts::Text* LmObjective::drawn(std::uint64_t ordinal, std::size_t example) const {
  return texts_ ? texts_->find(ordinal, example) : nullptr;
}

std::int64_t LmObjective::predictions(std::uint64_t first, std::int64_t count) const {
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t ordinal = first + static_cast<std::uint64_t>(i);
    const std::size_t window = windows_->window_at(ordinal);
    sum += windows_->predictions(window);
    if (!texts_) continue;
    for (const std::size_t example : windows_->examples_of(window))
      if (const OnPolicyTexts::Text* text = drawn(ordinal, example))
        sum += text->predictions() - windows_->examples().predictions(example);
  }
  return sum;
}

void LmObjective::append(std::uint64_t ordinal, LmBatch& batch) const {
  for (const std::size_t example : windows_->examples_of(windows_->window_at(ordinal))) {
    const std::size_t token = batch.targets.size();
    const OnPolicyTexts::Text* text = drawn(ordinal, example);
    if (text == nullptr)
      windows_->append_example(example, batch);
    else
      append_drawn(*text, batch);
    if (texts_) batch.is_drawn.resize(batch.targets.size(), text == nullptr ? 0 : 1);
    if (distillation_ != nullptr && distillation_->stored != nullptr)
      distillation_->stored->append(example, std::span(batch.targets).subspan(token),
                                    batch.teacher);
  }
}

train::PassSums LmObjective::add_gradients(std::uint64_t first, std::int64_t count,
                                           double grad_scale) {
  LmBatch batch;
  {
    const auto filling = clock_->enter("waiting for data");
    for (std::int64_t i = 0; i < count; ++i)
      append(first + static_cast<std::uint64_t>(i), batch);
  }
  const Distillation* how = distillation_ == nullptr ? nullptr : &distillation_->how;
  const LmSums sums = model_->add_gradients(batch, {grad_scale, clock_, how});
  return {sums.loss, sums.predictions, sums.correct};
}

}  // namespace mgpu::lm
