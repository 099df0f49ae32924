#pragma once

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
  double weight_decay = 0.01;  // of parameters whose spec says `decays`
  double max_grad_norm = 1.0;  // larger gradients are scaled down to it; 0: never
};

/// What happened to one update.
struct UpdateReport {
  double grad_norm = 0.0;   // after grad_scale, before clipping
  bool is_applied = false;  // false: a gradient is infinite or NaN; nothing has changed
};

/// AdamW over the flat arenas of a model.
///
/// Source: Loshchilov and Hutter, ICLR 2019; clipping by the global norm as in PyTorch.
class Adamw {
public:
  /// Memory: `parameters` has to outlive this.
  Adamw(tensor::ParameterArena& parameters, const AdamwConfig& config);

  /// Whether the gradient is finite for all who update together, given whether it is here.
  using Agree = std::function<bool(bool is_finite)>;

  /// One update with the gradients times grad_scale (1 / loss scale). Waits for the device, to
  /// learn the norm. The same gradients give the same bits on every rank. Without `agree` the
  /// gradients here decide.
  UpdateReport step(double learning_rate, double grad_scale = 1.0, const Agree& agree = {});

  std::int64_t updates() const { return updates_; }

  /// State for checkpoints, in the layout of the arena's weights.
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
  void update(const Span& span, float learning_rate, float grad_scale);

  tensor::ParameterArena* parameters_;
  AdamwConfig config_;
  std::int64_t updates_ = 0;
  std::vector<Span> spans_;  // neighbors with equal decay are one span
  at::Tensor m_;             // [elements] float32
  at::Tensor v_;             // [elements] float32
  at::Tensor norm_scratch_;  // [blocks + 1] float64; the sum comes last
};

}  // namespace mgpu::train
