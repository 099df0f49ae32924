#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

namespace mgpu::tensor {

/// Returns the tensor itself if it is in host memory, otherwise a host copy. The copy blocks until
/// the device has computed the tensor. All host reads of tensors use the functions of this header,
/// so that tests on the CPU can count the reads during which a GPU would be idle.
at::Tensor read_back(const at::Tensor& tensor);

/// Returns the value of a tensor with one element of type T. read_backs() counts each call.
template <class T>
T read_value(const at::Tensor& tensor) {
  return *read_back(tensor).const_data_ptr<T>();
}

/// Copies a tensor into `host`, which has the tensor's shape and type. read_backs() counts
/// each call.
void read_into(const at::Tensor& host, const at::Tensor& tensor);

/// Returns the indices of all elements that are not zero, [count, dimensions] on the tensor's
/// device. The host needs the number of these elements, so read_backs() counts each call.
at::Tensor places_of_true(const at::Tensor& tensor);

/// Returns how many host reads this process has made so far.
std::int64_t read_backs();

}  // namespace mgpu::tensor
