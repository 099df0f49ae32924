#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/tensor/parameter_arena.hpp>

namespace mgpu::train {

/// Sums over the predictions of one pass; sums of passes are the sums of the batch.
struct PassSums {
  double loss = 0.0;  // nats
  std::int64_t predictions = 0;
  std::int64_t correct = 0;
};

/// The function to minimize: the training loop's view of a model with its data and loss.
class Objective {
public:
  virtual ~Objective() = default;

  virtual tensor::ParameterArena& parameters() = 0;

  /// Returns whether prepare() generates items for each step.
  virtual bool makes_items() const { return false; }

  /// Generates items [first, first + count), this rank's share of a step, with the current weights;
  /// earlier generated items are discarded. Local.
  virtual void prepare(std::uint64_t /*first*/, std::int64_t /*count*/) {}

  /// Returns the number of predictions that items [first, first + count) add to the loss. Every
  /// rank can compute it for all items, so a mean over the global batch needs no communication. If
  /// items are generated, a rank knows only those that it generated.
  virtual std::int64_t predictions(std::uint64_t first, std::int64_t count) const = 0;

  /// Returns the items of an epoch.
  virtual std::uint64_t epoch_size() const = 0;

  /// Adds the gradient of grad_scale * (sum of losses) over items [first, first + count) to the
  /// gradient arena. An item is its ordinal in the whole training (step * global batch + place), so
  /// the result does not depend on ranks. Local.
  virtual PassSums add_gradients(std::uint64_t first, std::int64_t count, double grad_scale) = 0;

protected:
  Objective() = default;
  Objective(const Objective&) = default;
  Objective& operator=(const Objective&) = default;
};

}  // namespace mgpu::train
