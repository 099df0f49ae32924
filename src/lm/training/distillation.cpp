#include <algorithm>
#include <iterator>
#include <span>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/training/distillation.hpp>

#include "distill_loss.hpp"

namespace mgpu::lm {

void StoredTargetLoss::check(const LmBatch& batch, const LmConfig& model) const {
  const auto found = batch.token_lists.find(kTeacherLists);
  if (found == batch.token_lists.end()) throw ShapeError("the batch has no lists of a teacher");
  for (const std::int64_t id : found->second.ids)
    if (id < 0 || id >= model.vocab)
      throw ShapeError("a teacher's token " + std::to_string(id) + " in a vocabulary of " +
                       std::to_string(model.vocab));
}

PassLoss StoredTargetLoss::bind(const LmBatch& batch) const {
  return {.of_logits = grad::stored_loss(how_, batch.token_lists.find(kTeacherLists)->second)};
}

void ResidentTeacherLoss::check(const LmBatch& batch, const LmConfig& /*model*/) const {
  for (const SequenceSpan& span : batch.spans)
    for (const std::int64_t id : span.ids)
      if (id >= teacher_->config().vocab)
        throw ShapeError("token " + std::to_string(id) + " is not in the teacher's vocabulary of " +
                         std::to_string(teacher_->config().vocab));
}

PassLoss ResidentTeacherLoss::bind(const LmBatch& batch) const {
  grad::TeacherPass pass{*teacher_, teacher_->hidden(batch.spans)};
  const auto drawn = batch.token_columns.find(kDrawnColumn);
  if (drawn != batch.token_columns.end()) pass.is_drawn = drawn->second;
  return {.of_logits = grad::resident_loss(how_, pass)};
}

}  // namespace mgpu::lm
