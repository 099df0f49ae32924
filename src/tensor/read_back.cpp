#include <atomic>

#include <mgpu/tensor/read_back.hpp>

namespace mgpu::tensor {
namespace {

std::atomic<std::int64_t> count{0};

}  // namespace

at::Tensor read_back(const at::Tensor& tensor) {
  ++count;
  return tensor.cpu();
}

std::int64_t read_backs() {
  return count;
}

}  // namespace mgpu::tensor
