#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/lm/training/distillation.hpp>
#include <mgpu/lm/training/lm_items.hpp>

namespace mgpu::lm {

WindowItems::WindowItems(const LmWindows& windows, WindowSources sources)
    : windows_(&windows), stored_(sources.stored) {
  if (!sources.on_policy) return;
  if (!windows.examples().token_columns.empty())
    throw Error("WindowItems: texts that are drawn have no columns per token");
  texts_.emplace(std::move(*sources.on_policy), windows);
}

void WindowItems::make(const TrainableModel& model, std::uint64_t first, std::int64_t count) {
  if (texts_) texts_->draw(model, first, count);
}

/// Returns the text that the student sampled for the example; nullptr if the example keeps its
/// stored completion.
const OnPolicyTexts::Text* WindowItems::drawn(std::uint64_t ordinal, std::size_t example) const {
  return texts_ ? texts_->find(ordinal, example) : nullptr;
}

std::int64_t WindowItems::predictions(std::uint64_t ordinal) const {
  const std::size_t window = windows_->window_at(ordinal);
  std::int64_t sum = windows_->predictions(window);
  if (!texts_) return sum;
  for (const std::size_t example : windows_->examples_of(window))
    if (const OnPolicyTexts::Text* text = drawn(ordinal, example))
      sum += text->predictions() - windows_->examples().predictions(example);
  return sum;
}

void WindowItems::append_drawn(const OnPolicyTexts::Text& text, std::size_t example,
                               LmBatch& batch) const {
  const std::span<const std::int64_t> ids = text.ids;
  batch.spans.push_back({ids});
  for (std::int64_t i = 1; i < std::ssize(ids); ++i)
    batch.targets.push_back(i < text.prompt ? kernels::kIgnoreTarget
                                            : ids[static_cast<std::size_t>(i)]);
  batch.targets.push_back(kernels::kIgnoreTarget);
  for (const auto& [name, values] : windows_->examples().sequence_columns)
    batch.sequence_columns[name].push_back(values[example]);
}

void WindowItems::append(std::uint64_t ordinal, LmBatch& batch) const {
  for (const std::size_t example : windows_->examples_of(windows_->window_at(ordinal))) {
    const std::size_t token = batch.targets.size();
    const OnPolicyTexts::Text* text = drawn(ordinal, example);
    if (text == nullptr)
      windows_->append_example(example, batch);
    else
      append_drawn(*text, example, batch);
    if (texts_)
      batch.token_columns[kDrawnColumn].resize(batch.targets.size(), text == nullptr ? 0.0 : 1.0);
    if (windows_->group_size() > 1) batch.groups.push_back(windows_->group_of(ordinal));
    if (stored_ != nullptr)
      stored_->append(example, std::span(batch.targets).subspan(token),
                      batch.token_lists[kTeacherLists]);
  }
}

}  // namespace mgpu::lm
