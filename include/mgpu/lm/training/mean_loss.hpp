#pragma once

#include <cstdint>

#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/training/lm_items.hpp>
#include <mgpu/lm/training/trainable_model.hpp>

namespace mgpu::lm {

/// The windows of LmWindows in their order, each once, for losses on held-out examples.
class HeldOutItems final : public LmItems {
public:
  /// `windows` must outlive this object.
  explicit HeldOutItems(const LmWindows& windows) : windows_(&windows) {}

  std::uint64_t epoch_size() const override { return windows_->size(); }
  std::int64_t predictions(std::uint64_t ordinal) const override {
    return windows_->predictions(ordinal);
  }
  void append(std::uint64_t ordinal, LmBatch& batch) const override;
  std::int64_t group_size() const override { return windows_->group_size(); }

private:
  const LmWindows* windows_;
};

/// Means over the targets of a data set, or over the terms of a SequenceLoss.
struct MeanLoss {
  double loss = 0.0;  // nats
  double accuracy = 0.0;
};

/// Computes the mean of a loss over an epoch of items, forward only. Each item is summed alone, and
/// the sums are added in the order of the items, so that the number of ranks does not change the
/// result. For a SequenceLoss all items are one global batch.
///
/// Ranks:  collective over `group`.
/// Errors: those of TrainableModel::loss() and SequenceLoss, the same on all ranks.
MeanLoss mean_loss(const cluster::Group& group, const TrainableModel& model, const LmItems& items,
                   const TokenLoss& loss);

}  // namespace mgpu::lm
