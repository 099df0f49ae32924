#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <mgpu/lm/training/lm_batch.hpp>
#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/lm/training/on_policy_texts.hpp>
#include <mgpu/train/objective.hpp>

namespace mgpu::lm {

/// The training data of a language model is a series of items. Each item has one or more
/// sequences. Items are numbered by ordinals, which continue from one epoch to the next. Any rank
/// may get any item, so an item must depend only on its ordinal and the model's weights.
class LmItems {
public:
  LmItems() = default;
  LmItems(const LmItems&) = delete;
  LmItems& operator=(const LmItems&) = delete;
  LmItems(LmItems&&) = delete;
  LmItems& operator=(LmItems&&) = delete;
  virtual ~LmItems() = default;

  /// Returns the number of items of an epoch.
  virtual std::uint64_t epoch_size() const = 0;

  /// Returns whether the items of a training step must be made with make() before the step.
  virtual bool are_made() const { return false; }

  /// Makes items [first, first + count). An implementation may sample texts with the model's
  /// current weights, and keep them for later calls of make(). Until the next call of make(),
  /// append() and predictions() may be called only for these items.
  virtual void make(const TrainableModel& /*model*/, std::uint64_t /*first*/,
                    std::int64_t /*count*/) {}

  /// Returns the object that replaces some of the items of make() in the current training step;
  /// nullptr if the step replaces no items.
  virtual train::ItemRounds* rounds() { return nullptr; }

  /// Returns how many targets of item `ordinal` are not ignored.
  virtual std::int64_t predictions(std::uint64_t ordinal) const = 0;

  /// Appends the sequences of an item, with all their columns, to `batch`. The batch then refers to
  /// memory of this object.
  virtual void append(std::uint64_t ordinal, LmBatch& batch) const = 0;

  /// Returns the number of sequences in each group of LmBatch::groups; 0: any number.
  virtual std::int64_t group_size() const { return 0; }
};

/// Provides the stored next-token distributions of a teacher for the examples of a data set.
class TargetSource {
public:
  TargetSource() = default;
  TargetSource(const TargetSource&) = delete;
  TargetSource& operator=(const TargetSource&) = delete;
  virtual ~TargetSource() = default;

  /// Appends to `lists` the teacher's distribution at each token of an example. `example` is the
  /// index of the example in the data set. Tokens whose target is ignored get an empty list.
  ///
  /// Shapes: targets has one value per token of the example, as LmBatch::targets
  virtual void append(std::size_t example, std::span<const std::int64_t> targets,
                      TeacherTargets& lists) = 0;
};

/// Optional sources of data that WindowItems adds to the examples of its windows.
struct WindowSources {
  /// Fills LmBatch::token_lists[kTeacherLists]. nullptr: batches have no such lists.
  TargetSource* stored = nullptr;

  /// If set, the student samples some completions itself, and batches have the token column
  /// kDrawnColumn.
  std::optional<OnPolicyConfig> on_policy{};
};

/// Items that are the windows of an LmWindows (packed examples), in a new random order per epoch.
/// If LmExamples::group_size is 1, LmBatch::groups stays empty.
class WindowItems final : public LmItems {
public:
  /// `windows` and `sources.stored` have to outlive this object.
  ///
  /// Errors: Error if `sources.on_policy` is set and the examples have token columns; those of
  ///         OnPolicyTexts.
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
