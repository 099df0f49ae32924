#include "latent_head.hpp"

#include <cmath>

#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>

#include <mgpu/formats/json_value.hpp>

namespace mgpu::recipes {

std::vector<tensor::ParameterSpec> latent_head_specs(const LatentHeadSizes& sizes) {
  const auto spread = [](std::int64_t inputs) {
    return 1.0 / std::sqrt(static_cast<double>(inputs));
  };
  return {{.name = "dense.weight",
           .shape = {sizes.hidden, sizes.inputs},
           .init_std = spread(sizes.inputs),
           .decays = true},
          {.name = "dense.bias", .shape = {sizes.hidden}},
          {.name = "score.weight",
           .shape = {1, sizes.hidden},
           .init_std = spread(sizes.hidden),
           .decays = true},
          {.name = "score.bias", .shape = {1}}};
}

LatentHead::LatentHead(const LatentHeadSizes& sizes, Device device, std::uint64_t seed)
    : sizes_(sizes), parameters_(latent_head_specs(sizes), device, seed) {}

at::Tensor LatentHead::forward(const at::Tensor& states) const {
  const at::Tensor hidden =
      at::gelu(at::linear(states, parameters_.parameter(std::size_t{0}), parameters_.parameter(1)));
  return at::linear(hidden, parameters_.parameter(2), parameters_.parameter(3)).squeeze(1);
}

std::string LatentHead::config() const {
  return formats::to_json_line(
             formats::JsonValue::Members{{"model_type", "mgpu_latent_reward_head"},
                                         {"input_size", sizes_.inputs},
                                         {"hidden_size", sizes_.hidden},
                                         {"hidden_act", "gelu"},
                                         {"pooling", "mean"}},
             formats::BadUtf8::replace) +
         "\n";
}

}  // namespace mgpu::recipes
