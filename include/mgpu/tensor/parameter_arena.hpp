#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/base/buffer_view.hpp>

namespace mgpu::tensor {

struct ParameterSpec {
  std::string name;  // such as "blocks.0.attention.qkv.weight"
  std::vector<std::int64_t> shape;
  double init_std = 0.0;    // standard deviation of the initial weights (uniform draws)
  double init_value = 0.0;  // mean of the initial weights
  bool decays = false;      // whether weight decay applies
};

/// The place of a parameter in the flat buffer of weights, in elements. Its gradient is at the same
/// place in the buffer of gradients.
struct ParameterSpan {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

/// Returns the size of the buffer of weights in a ParameterArena with these parameters, in
/// elements, including the gaps between parameters. The buffer of gradients has the same size if
/// there is one. Allocates nothing.
std::int64_t arena_size(const std::vector<ParameterSpec>& specs);

/// Holds all weights of a model in one flat buffer and their gradients in another, in the order of
/// the specs. Each parameter is an autograd leaf. Its storage and its gradient are views into the
/// two buffers. So a backward pass adds to the buffer of gradients in place. The optimizer, the
/// reduction of gradients and checkpoints access flat memory.
///
/// Memory: parameters start at multiples of 64 bytes; the gaps stay 0 in both buffers.
class ParameterArena {
public:
  /// Draws the initial weights: element i of a parameter is a function of (seed, name, i) that has
  /// the same bits on every machine and device. `dtype` is f32 for training (master weights), and
  /// f64 for gradient checks. Without `has_gradients`, the buffer of gradients is empty, and no
  /// parameter requires a gradient.
  ParameterArena(std::vector<ParameterSpec> specs, Device device, std::uint64_t seed,
                 DType dtype = DType::f32, bool has_gradients = true);
  ParameterArena(const ParameterArena&) = delete;
  ParameterArena& operator=(const ParameterArena&) = delete;
  ParameterArena(ParameterArena&&) = default;
  ParameterArena& operator=(ParameterArena&&) = default;
  ~ParameterArena() = default;

  std::size_t size() const { return specs_.size(); }
  const ParameterSpec& spec(std::size_t index) const { return specs_[index]; }
  const ParameterSpan& span(std::size_t index) const { return spans_[index]; }
  const at::Tensor& parameter(std::size_t index) const { return parameters_[index]; }
  at::Tensor gradient(std::size_t index) const;

  /// Returns the parameter `name`. Errors: Error when there is no such parameter.
  const at::Tensor& parameter(std::string_view name) const;
  std::size_t index_of(std::string_view name) const;

  const at::Tensor& weights() const { return weights_; }      // [elements] flat
  const at::Tensor& gradients() const { return gradients_; }  // [elements] flat
  std::int64_t num_parameters() const;                        // excludes the gaps

  void zero_gradients();

  /// Registers a hook. `ready(index)` runs in each backward pass as soon as the gradient of
  /// parameter `index` has been added to gradients(). If autograd adds the gradient, the hook runs
  /// on autograd's thread for the device. On the CPU, this is the thread that called backward. If
  /// other code adds the gradient, that code has to call the hook on its thread. The new hook
  /// replaces an earlier hook; an empty function removes the hook.
  void on_gradient_ready(const std::function<void(std::size_t)>& ready);

private:
  std::vector<ParameterSpec> specs_;
  std::vector<ParameterSpan> spans_;
  at::Tensor weights_;
  at::Tensor gradients_;
  std::vector<at::Tensor> parameters_;
};

}  // namespace mgpu::tensor
