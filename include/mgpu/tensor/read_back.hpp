#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace mgpu::tensor {

/// Returns the tensor itself if it is in host memory, otherwise a host copy. The copy blocks until
/// the device has computed the tensor. All reads of tensors go through this header, so that a test
/// on the CPU can count those that a GPU would wait for.
at::Tensor read_back(const at::Tensor& tensor);

/// The value of a tensor with one element of type T. Counts as a read.
template <class T>
T read_value(const at::Tensor& tensor) {
  return *read_back(tensor).const_data_ptr<T>();
}

/// Copies a tensor into `host`, which has its shape and type. Counts as a read.
void read_into(const at::Tensor& host, const at::Tensor& tensor);

/// The indices of all elements that are not zero, [count, dimensions] on the tensor's device.
/// Counts as a read, because the host needs their number.
at::Tensor places_of_true(const at::Tensor& tensor);

/// Reads in this process so far.
std::int64_t read_backs();

}  // namespace mgpu::tensor
