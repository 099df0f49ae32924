#include <atomic>

#include <ATen/ops/nonzero.h>

#include <mgpu/tensor/read_back.hpp>

namespace mgpu::tensor {
namespace {

std::atomic<std::int64_t> count{0};

}  // namespace

at::Tensor read_back(const at::Tensor& tensor) {
  ++count;
  return tensor.cpu();
}

void read_into(const at::Tensor& host, const at::Tensor& tensor) {
  ++count;
  host.copy_(tensor);
}

at::Tensor places_of_true(const at::Tensor& tensor) {
  ++count;
  return tensor.nonzero();
}

std::int64_t read_backs() {
  return count;
}

}  // namespace mgpu::tensor
