#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/tensor/parameter_arena.hpp>

namespace mgpu::train {

struct AdamwConfig {
  double beta1 = 0.9;
  double beta2 = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0.01;  // for parameters with ParameterSpec::decays
  double max_grad_norm = 1.0;  // gradients with a larger norm are scaled to this norm; 0: never
};

/// The outcome of one update.
struct UpdateReport {
  double grad_norm = 0.0;   // norm of grad_scale * gradients, before clipping
  bool is_applied = false;  // false: infinite or NaN gradients, and nothing has changed
};

/// Updates the flat buffers of a model's parameters (ParameterArena) with AdamW.
///
/// Source: Loshchilov and Hutter, ICLR 2019; clipping by the global norm as in PyTorch.
class Adamw {
public:
  /// Keeps a reference to `parameters`, which must outlive this object.
  /// Errors: Error unless the weights are float32.
  Adamw(tensor::ParameterArena& parameters, const AdamwConfig& config);

  /// A function that returns whether the gradients are finite on all ranks that update together.
  /// The argument `is_finite` tells whether the gradients are finite on this rank.
  using Agree = std::function<bool(bool is_finite)>;

  /// Applies one update with grad_scale * gradients, where grad_scale is 1 / loss scale. If `agree`
  /// returns false, nothing changes. Without `agree`, only the gradients of this rank decide.
  ///
  /// Ranks with equal parameters, moments and gradients get bitwise equal results. Waits for the
  /// device, because the host reads the gradient norm.
  UpdateReport step(double learning_rate, double grad_scale = 1.0, const Agree& agree = {});

  std::int64_t updates() const { return updates_; }

  /// The next two functions return AdamW's moments, in the layout of ParameterArena::weights().
  /// Checkpoints store the moments.
  const at::Tensor& first_moment() const { return m_; }   // [elements] float32
  const at::Tensor& second_moment() const { return v_; }  // [elements] float32
  void set_updates(std::int64_t updates) { updates_ = updates; }

private:
  struct Span {
    std::int64_t begin;
    std::int64_t count;
    bool decays;
  };

  double squared_gradient_norm();
  void update(std::size_t first, std::size_t count, float learning_rate, float grad_scale);

  tensor::ParameterArena* parameters_;
  AdamwConfig config_;
  std::int64_t updates_ = 0;
  std::vector<Span> spans_;  // adjacent parameters with equal decay share a span
  at::Tensor m_;             // [elements] float32, first moments
  at::Tensor v_;             // [elements] float32, second moments
  at::Tensor norm_scratch_;  // [blocks + 1] float64: sums of squares of blocks, then the total
};

}  // namespace mgpu::train
