#include <mgpu/base/error.hpp>
#include <mgpu/lm/training/model_head.hpp>

namespace mgpu::lm {

std::vector<tensor::ParameterSpec> head_specs(const ModelHead& head, std::int64_t width) {
  constexpr double kInitStd = 0.02;  // initializer_range of transformers
  if (head.outputs < 1) throw ShapeError("ModelHead: no outputs");
  std::vector<tensor::ParameterSpec> specs = {
      {head.name + ".weight", {head.outputs, width}, kInitStd, 0.0, true}};
  if (head.has_bias) specs.push_back({head.name + ".bias", {head.outputs}, 0.0, 0.0, false});
  return specs;
}

}  // namespace mgpu::lm
