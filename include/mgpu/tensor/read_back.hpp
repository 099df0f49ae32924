#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace mgpu::tensor {

/// Returns the tensor itself if it is in host memory, otherwise a host copy. The copy blocks until
/// the device has computed the tensor. All reads of lm's forward pass and decoding go through here,
/// so that a test on the CPU can count those that a GPU would wait for.
at::Tensor read_back(const at::Tensor& tensor);

/// Calls of read_back() in this process so far.
std::int64_t read_backs();

}  // namespace mgpu::tensor
