#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace mgpu::tensor {

/// Returns the tensor itself if it is in host memory, otherwise a host copy. The copy blocks until
/// the device has computed the tensor. The host reads all tensors through this header, so that a
/// test on the CPU can count the reads for which a GPU would be idle.
at::Tensor read_back(const at::Tensor& tensor);

/// Returns the value of a tensor with one element of type T. Counts as a read.
template <class T>
T read_value(const at::Tensor& tensor) {
  return *read_back(tensor).const_data_ptr<T>();
}

/// Copies a tensor into `host`, which has its shape and type. Counts as a read.
void read_into(const at::Tensor& host, const at::Tensor& tensor);

/// Returns the indices of all elements that are not zero, [count, dimensions] on the tensor's
/// device. Counts as a read, because the host needs the number of these elements.
at::Tensor places_of_true(const at::Tensor& tensor);

/// Returns how many reads this process has made so far.
std::int64_t read_backs();

}  // namespace mgpu::tensor
