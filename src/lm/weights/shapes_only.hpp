#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/lm/weights/lm_weights.hpp>

namespace mgpu::lm {

/// A WeightSource that provides meta tensors, which have a shape but no data.
class ShapesOnly : public WeightSource {
public:
  at::Tensor take(const std::string& /*name*/, const std::vector<std::int64_t>& shape) override {
    return at::empty(shape, at::TensorOptions().device(at::kMeta));
  }
};

}  // namespace mgpu::lm
