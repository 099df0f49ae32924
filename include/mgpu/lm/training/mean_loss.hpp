#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/lm/training/lm_items.hpp>
#include <mgpu/lm/training/trainable_model.hpp>

namespace mgpu::lm {

/// Items for losses on held-out examples. Item i is the window with index i of an LmWindows (packed
/// examples). The random order of training (LmWindows::window_at()) is not used.
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

/// Loss and accuracy, as means over the targets. For a SequenceLoss, the sum of losses and the
/// number of correct predictions are divided by SequenceLoss::terms() instead.
struct MeanLoss {
  double loss = 0.0;             // nats
  double accuracy = 0.0;         // correct predictions per target
  std::vector<double> digest{};  // SequenceLoss::digest() of all items; empty for other losses
};

/// Computes the mean of a loss over an epoch of items, forward only. Each item is evaluated alone,
/// and the sums are added in the order of the items, so that the number of ranks does not change
/// the result. For a SequenceLoss, all items together are one global batch.
///
/// Ranks:  collective over `group`; the result is the same on every rank.
/// Errors: those of TrainableModel::loss() and of the SequenceLoss, thrown on every rank.
MeanLoss mean_loss(const cluster::Group& group, const TrainableModel& model, const LmItems& items,
                   const TokenLoss& loss);

}  // namespace mgpu::lm
