#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/history.hpp>
#include <mgpu/ad/tokens.hpp>

namespace mgpu::ad {

/// Identifies an item of TrainingWindows by its history and its step.
struct TrainingItem {
  std::size_t history = 0;  // index in the HistorySet
  std::size_t step = 0;     // kind step: first step of the window; kind transition: predicted step

  friend bool operator==(const TrainingItem&, const TrainingItem&) = default;
};

/// The training items of a set of histories, in an endless random order that is computed, not
/// stored.
///
/// The `ordinal` of an item is its position in this order: optimizer step * size of the global
/// batch + index in this batch. Each epoch contains each item once, in an order that depends only
/// on seed and epoch. So each rank can compute its items from the optimizer step, also in a resumed
/// run.
///
/// With TokenKind::step an item is a full window, which begins where an episode begins. With
/// TokenKind::transition an item is one step with up to WindowRules::memory() steps before it. An
/// item near the beginning of a history has fewer steps before it.
class TrainingWindows {
public:
  /// Keeps a reference to `histories`, which must outlive this object.
  /// Errors: Error when `histories` is empty, or when a window is longer than a history.
  TrainingWindows(const Environment& environment, const HistorySet& histories, WindowRules rules,
                  std::uint64_t seed);

  /// Returns the number of items, each of which occurs once in an epoch.
  std::uint64_t size() const { return histories_->size() * items_per_history_; }
  std::uint64_t epoch(std::uint64_t ordinal) const { return ordinal / size(); }
  TrainingItem item(std::uint64_t ordinal) const;

  const TokenWriter& writer() const { return writer_; }
  const WindowRules& rules() const { return rules_; }

  /// Writes the item with ordinal ordinals[b] to row b of `out`.
  /// Errors: Error when `out` is a batch for another TokenKind than that of rules().
  void fill(std::span<const std::uint64_t> ordinals, const StepBatch& out) const;
  void fill(std::span<const std::uint64_t> ordinals, const TransitionBatch& out) const;

private:
  Transition transition(const History& history, std::size_t t) const;
  void fill_row(const TrainingItem& item, std::size_t row, const StepBatch& out) const;
  void fill_row(const TrainingItem& item, std::size_t row, const TransitionBatch& out) const;

  const HistorySet* histories_;
  WindowRules rules_;
  std::uint64_t seed_;
  TokenWriter writer_;
  std::uint8_t start_;
  std::uint64_t items_per_history_;
};

}  // namespace mgpu::ad
