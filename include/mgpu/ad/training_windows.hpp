#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <mgpu/ad/environment.hpp>
#include <mgpu/ad/history.hpp>
#include <mgpu/ad/tokens.hpp>

namespace mgpu::ad {

/// Identifies a training item by its history and its step.
struct TrainingItem {
  std::size_t history = 0;  // index in the set
  std::size_t step = 0;     // kind step: first step of the window; kind transition: predicted step

  friend bool operator==(const TrainingItem&, const TrainingItem&) = default;
};

/// The training items of a set of histories, in an endless order that needs no memory.
///
/// An item's `ordinal` is the global number of a training sample: optimizer step * global batch +
/// index in the batch. Each epoch contains each item once, in an order that is a function of seed
/// and epoch. So ranks can share items and resume by arithmetic alone.
///
/// Items of kind `step` are full windows: one for each episode that a full window can start with.
/// Items of kind `transition` are all steps; the first steps of a history have a short past.
class TrainingWindows {
public:
  /// Keeps a reference to the histories. Errors: Error without histories, or when a window is
  /// longer than a history.
  TrainingWindows(const Environment& environment, const HistorySet& histories, WindowRules rules,
                  std::uint64_t seed);

  /// Returns the number of items of an epoch.
  std::uint64_t size() const { return histories_->size() * items_per_history_; }
  std::uint64_t epoch(std::uint64_t ordinal) const { return ordinal / size(); }
  TrainingItem item(std::uint64_t ordinal) const;

  const TokenWriter& writer() const { return writer_; }
  const WindowRules& rules() const { return rules_; }

  /// Fills row b with item ordinals[b]. Errors: Error for the other kind of tokens.
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
