#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <mgpu/lm/training/lm_batch.hpp>
#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/lm/training/on_policy_texts.hpp>

namespace mgpu::lm {

/// What a language model is trained on: items, numbered through the whole training, each with some
/// sequences. Ranks share the items of a step as they please, so an item depends on its number and
/// the weights only.
class LmItems {
public:
  LmItems() = default;
  LmItems(const LmItems&) = delete;
  LmItems& operator=(const LmItems&) = delete;
  LmItems(LmItems&&) = delete;
  LmItems& operator=(LmItems&&) = delete;
  virtual ~LmItems() = default;

  virtual std::uint64_t epoch_size() const = 0;

  /// Whether items are made anew for each step, by make().
  virtual bool are_made() const { return false; }

  /// Makes items [first, first + count) with the model as it is; those of before go.
  virtual void make(const TrainableModel& /*model*/, std::uint64_t /*first*/,
                    std::int64_t /*count*/) {}

  /// Targets of an item that are not ignored.
  virtual std::int64_t predictions(std::uint64_t ordinal) const = 0;

  /// Adds the sequences of an item with all their columns; the batch looks into this.
  virtual void append(std::uint64_t ordinal, LmBatch& batch) const = 0;

  /// Sequences of each group that append() speaks of in LmBatch::groups; 0: it may be any number.
  virtual std::int64_t group_size() const { return 0; }
};

/// What a teacher said of examples, wherever it is kept.
class TargetSource {
public:
  TargetSource() = default;
  TargetSource(const TargetSource&) = delete;
  TargetSource& operator=(const TargetSource&) = delete;
  virtual ~TargetSource() = default;

  /// Adds a list for each token of an example; that of a token whose target is ignored is empty.
  ///
  /// Shapes: targets as LmBatch has them, of the example's tokens
  virtual void append(std::size_t example, std::span<const std::int64_t> targets,
                      TeacherTargets& lists) = 0;
};

/// What items have beside the examples of their windows.
struct WindowSources {
  TargetSource* stored = nullptr;  // of kTeacherLists; nullptr: there are none

  /// Completions that the student draws itself; items have kDrawnColumn then. Nothing: none.
  std::optional<OnPolicyConfig> on_policy{};
};

/// Windows as items. Examples in groups of more than one say so in LmBatch::groups.
class WindowItems final : public LmItems {
public:
  /// What is referred to outlives this.
  ///
  /// Errors: Error for texts that are drawn in the place of examples with columns per token.
  explicit WindowItems(const LmWindows& windows, WindowSources sources = {});

  std::uint64_t epoch_size() const override { return windows_->size(); }
  bool are_made() const override { return texts_.has_value(); }
  void make(const TrainableModel& model, std::uint64_t first, std::int64_t count) override;
  std::int64_t predictions(std::uint64_t ordinal) const override;
  void append(std::uint64_t ordinal, LmBatch& batch) const override;
  std::int64_t group_size() const override { return windows_->group_size(); }

private:
  const OnPolicyTexts::Text* drawn(std::uint64_t ordinal, std::size_t example) const;
  void append_drawn(const OnPolicyTexts::Text& text, std::size_t example, LmBatch& batch) const;

  const LmWindows* windows_;
  TargetSource* stored_;
  std::optional<OnPolicyTexts> texts_;
};

}  // namespace mgpu::lm
