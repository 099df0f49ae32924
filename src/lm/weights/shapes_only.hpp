#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/lm/weights/lm_weights.hpp>

namespace mgpu::lm {

/// A weight source without weights: it provides meta tensors, which have shapes but no storage.
class ShapesOnly : public WeightSource {
public:
  at::Tensor take(const std::string& /*name*/, const std::vector<std::int64_t>& shape) override {
    return at::empty(shape, at::TensorOptions().device(at::kMeta));
  }
};

}  // namespace mgpu::lm
