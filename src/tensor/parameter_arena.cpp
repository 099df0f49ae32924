#include <cmath>
#include <numeric>

#include <ATen/ATen.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/random_streams.hpp>
#include <mgpu/base/text_hash.hpp>
#include <mgpu/tensor/parameter_arena.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::tensor {
namespace {

constexpr std::int64_t kAlignment = 16;  // elements
constexpr Purpose kInitialValues{5};     // random initial weights; one stream per parameter

std::int64_t count_of(const ParameterSpec& spec) {
  return std::accumulate(spec.shape.begin(), spec.shape.end(), std::int64_t{1},
                         std::multiplies<>());
}

/// Returns the number of elements that a parameter of `count` elements takes, including the gap
/// after it.
std::int64_t padded(std::int64_t count) {
  return (count + kAlignment - 1) / kAlignment * kAlignment;
}

/// Fills `flat` with init_value plus uniform draws between -w and w, where w is sqrt(3) * init_std.
/// Uses only additions, products and one square root, so the bits are the same with every math
/// library.
void initialize(const ParameterSpec& spec, std::uint64_t seed, at::Tensor flat) {
  if (spec.init_std == 0.0) {
    flat.fill_(spec.init_value);
    return;
  }
  const RandomStream stream(seed, kInitialValues, 0, text_hash(spec.name));
  const double width = std::sqrt(12.0) * spec.init_std;
  auto values = at::empty({flat.numel()}, at::kFloat);  // [count] on the host
  auto* data = values.mutable_data_ptr<float>();
  for (std::int64_t i = 0; i < flat.numel(); ++i) {
    const double centered = stream.uniform(static_cast<std::uint64_t>(i)) - 0.5;
    data[i] = static_cast<float>(spec.init_value + width * centered);
  }
  flat.copy_(values);
}

class ReadyHook : public torch::autograd::PostAccumulateGradHook {
public:
  ReadyHook(std::function<void(std::size_t)> ready, std::size_t index)
      : ready_(std::move(ready)), index_(index) {}

  void operator()(const torch::autograd::Variable& /*parameter*/) override { ready_(index_); }

private:
  std::function<void(std::size_t)> ready_;
  std::size_t index_;
};

}  // namespace

std::int64_t arena_size(const std::vector<ParameterSpec>& specs) {
  std::int64_t size = 0;
  for (const ParameterSpec& spec : specs)
    size += padded(count_of(spec));
  return size;
}

ParameterArena::ParameterArena(std::vector<ParameterSpec> specs, Device device, std::uint64_t seed,
                               DType dtype, bool has_gradients)
    : specs_(std::move(specs)) {
  std::int64_t end = 0;
  for (const ParameterSpec& spec : specs_) {
    spans_.push_back({end, count_of(spec)});
    end += padded(spans_.back().count);
  }
  const auto options = at::TensorOptions().dtype(scalar_type(dtype)).device(torch_device(device));
  weights_ = at::zeros({end}, options);
  gradients_ = at::zeros({has_gradients ? end : 0}, options);
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    const at::Tensor flat = weights_.narrow(0, spans_[i].begin, spans_[i].count);
    initialize(specs_[i], seed, flat);
    at::Tensor leaf = flat.view(specs_[i].shape).detach();
    leaf.requires_grad_(has_gradients);
    if (has_gradients) leaf.mutable_grad() = gradient(i);
    parameters_.push_back(leaf);
  }
}

at::Tensor ParameterArena::gradient(std::size_t index) const {
  const ParameterSpan& span = spans_.at(index);
  return gradients_.narrow(0, span.begin, span.count).view(specs_[index].shape);
}

std::size_t ParameterArena::index_of(std::string_view name) const {
  for (std::size_t i = 0; i < specs_.size(); ++i)
    if (specs_[i].name == name) return i;
  throw Error(std::string("the model has no parameter ").append(name));
}

const at::Tensor& ParameterArena::parameter(std::string_view name) const {
  return parameters_[index_of(name)];
}

std::int64_t ParameterArena::num_parameters() const {
  std::int64_t sum = 0;
  for (const ParameterSpan& span : spans_)
    sum += span.count;
  return sum;
}

void ParameterArena::zero_gradients() {
  gradients_.zero_();
}

void ParameterArena::on_gradient_ready(const std::function<void(std::size_t)>& ready) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    std::unique_ptr<torch::autograd::PostAccumulateGradHook> hook;
    if (ready) hook = std::make_unique<ReadyHook>(ready, i);
    torch::autograd::impl::set_post_acc_grad_hooks(parameters_[i], std::move(hook));
  }
}

}  // namespace mgpu::tensor
