#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/tensor/parameter_arena.hpp>

namespace mgpu::train {

/// Sums over the predictions of one pass. Added over all passes, they are the sums of the batch.
struct PassSums {
  double loss = 0.0;  // nats
  std::int64_t predictions = 0;
  std::int64_t correct = 0;
};

/// The first of two sweeps over the items of a step. With it, the gradient of an item may depend on
/// items of other passes and ranks. All calls are local. A step calls clear(), then measure() for
/// each pass, then result(), then read().
class ItemSurvey {
public:
  virtual ~ItemSurvey() = default;

  /// Discards the measurements of the previous step.
  virtual void clear() = 0;

  /// Measures items [first, first + count) with the current weights.
  virtual void measure(std::uint64_t first, std::int64_t count) = 0;

  /// Returns the data that other ranks need about the items that were measured on this rank.
  virtual std::string result() const = 0;

  /// Takes the results of all ranks, by rank. After that, Objective::predictions() and
  /// add_gradients() refer to these items.
  virtual void read(const std::vector<std::string>& results) = 0;

protected:
  ItemSurvey() = default;
  ItemSurvey(const ItemSurvey&) = default;
  ItemSurvey& operator=(const ItemSurvey&) = default;
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

  /// Returns the survey, the first sweep of a step, or nullptr if add_gradients() needs none.
  virtual ItemSurvey* survey() { return nullptr; }

  /// Returns the number of predictions that items [first, first + count) add to the loss. Every
  /// rank can compute it for all items, so a mean over the global batch needs no communication. If
  /// items are generated, a rank knows only the items that it generated. With a survey() the result
  /// is the divisor of the sum over all measured items.
  virtual std::int64_t predictions(std::uint64_t first, std::int64_t count) const = 0;

  /// Returns the number of items of an epoch.
  virtual std::uint64_t epoch_size() const = 0;

  /// Adds the gradient of grad_scale * (sum of losses) over items [first, first + count) to the
  /// gradient arena. Items are numbered over the whole training (step * global batch + index in the
  /// batch), so the result does not depend on ranks. Local.
  virtual PassSums add_gradients(std::uint64_t first, std::int64_t count, double grad_scale) = 0;

protected:
  Objective() = default;
  Objective(const Objective&) = default;
  Objective& operator=(const Objective&) = default;
};

}  // namespace mgpu::train
