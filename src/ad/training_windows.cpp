#include <algorithm>

#include <mgpu/ad/training_windows.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/keyed_permutation.hpp>

namespace mgpu::ad {

TrainingWindows::TrainingWindows(const Environment& environment, const HistorySet& histories,
                                 WindowRules rules, std::uint64_t seed)
    : histories_(&histories),
      rules_(rules),
      seed_(seed),
      writer_(environment),
      start_(static_cast<std::uint8_t>(environment.start_state())),
      items_per_history_(histories.shape().steps()) {
  if (histories.size() == 0) throw Error("training windows of no histories");
  const auto tokens = static_cast<std::size_t>(rules.tokens);
  if (tokens > histories.shape().steps()) throw Error("training windows longer than a history");
  if (rules.kind == TokenKind::step)
    items_per_history_ =
        (histories.shape().steps() - tokens) / static_cast<std::size_t>(rules.horizon) + 1;
}

TrainingItem TrainingWindows::item(std::uint64_t ordinal) const {
  const KeyedPermutation order(size(), seed_, static_cast<std::uint32_t>(epoch(ordinal)));
  const std::uint64_t element = order(ordinal % size());
  const std::size_t place = element % items_per_history_;
  const std::size_t stride =
      rules_.kind == TokenKind::step ? static_cast<std::size_t>(rules_.horizon) : 1;
  return {element / items_per_history_, place * stride};
}

void TrainingWindows::fill(std::span<const std::uint64_t> ordinals, const StepBatch& out) const {
  if (rules_.kind != TokenKind::step) throw Error("these windows are of transitions");
  for (std::size_t row = 0; row < ordinals.size(); ++row)
    fill_row(item(ordinals[row]), row, out);
}

void TrainingWindows::fill(std::span<const std::uint64_t> ordinals,
                           const TransitionBatch& out) const {
  if (rules_.kind != TokenKind::transition) throw Error("these windows are of steps");
  for (std::size_t row = 0; row < ordinals.size(); ++row)
    fill_row(item(ordinals[row]), row, out);
}

Transition TrainingWindows::transition(const History& history, std::size_t t) const {
  const bool begins = t % static_cast<std::size_t>(rules_.horizon) == 0;
  return {begins ? start_ : history.landing[t - 1], history.action[t], history.reward[t],
          history.landing[t]};
}

void TrainingWindows::fill_row(const TrainingItem& item, std::size_t row,
                               const StepBatch& out) const {
  const History history = (*histories_)[item.history];
  const auto tokens = static_cast<std::size_t>(rules_.tokens);
  Transition previous;
  for (std::size_t i = 0; i < tokens; ++i) {
    const Transition now = transition(history, item.step + i);
    const std::size_t at = row * tokens + i;
    writer_.write(out, at, now.state, i == 0 ? nullptr : &previous);
    if (out.target != nullptr) out.target[at] = now.action;
    previous = now;
  }
}

void TrainingWindows::fill_row(const TrainingItem& item, std::size_t row,
                               const TransitionBatch& out) const {
  const History history = (*histories_)[item.history];
  const auto most = static_cast<std::size_t>(rules_.memory());
  const std::size_t length = std::min(item.step, most);
  const std::size_t width = writer_.num_features();
  float* const features = out.features + row * most * width;
  for (std::size_t i = 0; i < length; ++i)
    writer_.write(features + i * width, transition(history, item.step - length + i));
  std::fill(features + length * width, features + most * width, 0.0F);

  const Transition now = transition(history, item.step);
  out.length[row] = static_cast<std::int32_t>(length);
  out.query[row] = now.state;
  if (out.target != nullptr) out.target[row] = now.action;
}

}  // namespace mgpu::ad
