#pragma once

#include <cstdint>

namespace mgpu::train {

/// Chooses the loss scale of fp16 training: the factor by which the loss is multiplied so that
/// small gradients do not vanish in 16 bits. The scale is halved when gradients overflow, and
/// doubled after 2000 finite updates in a row, within the bounds 1 and 2^24. Without fp16, the
/// scale is always 1.
///
/// Ranks:  all ranks must pass the same `is_finite` to update(), so that they keep the same scale.
/// Source: Micikevicius et al., ICLR 2018, section 3.2; first scale, factors and interval as in
///         PyTorch's GradScaler.
class LossScaler {
public:
  struct State {
    double scale = 1.0;
    std::int64_t good_updates = 0;  // finite updates in a row; set to 0 when it reaches 2000
  };

  /// `is_dynamic`: whether the training uses fp16.
  explicit LossScaler(bool is_dynamic);

  /// Returns whether the scale is above 1. If so, an infinite gradient may become finite with a
  /// smaller scale.
  bool can_shrink() const { return is_dynamic_ && state_.scale > 1.0; }
  double scale() const { return state_.scale; }

  /// Updates the scale after an optimizer step. `is_finite` tells whether the gradients of the step
  /// were finite.
  void update(bool is_finite);

  const State& state() const { return state_; }
  void restore(const State& state) { state_ = state; }

private:
  bool is_dynamic_;
  State state_;
};

}  // namespace mgpu::train
