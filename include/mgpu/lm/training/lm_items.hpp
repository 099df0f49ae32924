#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <mgpu/lm/training/lm_batch.hpp>
#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/lm/training/on_policy_texts.hpp>

namespace mgpu::lm {

/// The training data of a language model. It consists of items of one or more sequences, whose
/// numbers go on from epoch to epoch. Any rank may get any item, so an item depends only on its
/// number and the model's weights.
class LmItems {
public:
  LmItems() = default;
  LmItems(const LmItems&) = delete;
  LmItems& operator=(const LmItems&) = delete;
  LmItems(LmItems&&) = delete;
  LmItems& operator=(LmItems&&) = delete;
  virtual ~LmItems() = default;

  virtual std::uint64_t epoch_size() const = 0;

  /// Returns whether make() has to make the items of each step before the step.
  virtual bool are_made() const { return false; }

  /// Makes items [first, first + count) with the model's current weights, and discards earlier
  /// ones.
  virtual void make(const TrainableModel& /*model*/, std::uint64_t /*first*/,
                    std::int64_t /*count*/) {}

  /// Returns how many targets of an item are not ignored.
  virtual std::int64_t predictions(std::uint64_t ordinal) const = 0;

  /// Appends the sequences of an item, with all their columns, to `batch`, which then refers to
  /// memory of this object.
  virtual void append(std::uint64_t ordinal, LmBatch& batch) const = 0;

  /// Returns how many sequences each group of LmBatch::groups has; 0: any number.
  virtual std::int64_t group_size() const { return 0; }
};

/// A source of a teacher's stored distributions for examples.
class TargetSource {
public:
  TargetSource() = default;
  TargetSource(const TargetSource&) = delete;
  TargetSource& operator=(const TargetSource&) = delete;
  virtual ~TargetSource() = default;

  /// Appends a list for each token of an example. Tokens whose target is ignored get an empty list.
  ///
  /// Shapes: targets has one value per token of the example, as in LmBatch
  virtual void append(std::size_t example, std::span<const std::int64_t> targets,
                      TeacherTargets& lists) = 0;
};

/// Optional data that WindowItems adds to the examples of its windows.
struct WindowSources {
  TargetSource* stored = nullptr;  // fills the lists kTeacherLists; nullptr: no lists

  /// If set, the student samples some completions itself, and items have the column kDrawnColumn.
  std::optional<OnPolicyConfig> on_policy{};
};

/// The windows of LmWindows as items. LmBatch::groups is empty if each group has one example.
class WindowItems final : public LmItems {
public:
  /// All references have to outlive this object.
  ///
  /// Errors: Error if `on_policy` is set and the examples have token columns.
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
