#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include <mgpu/tensor/wide_product.hpp>

// Only tests that emulate a GPU call these functions with CPU tensors. On the CPU, libtorch has no
// product of 16-bit matrices with a float32 result, so the functions convert the factors to
// float32. A product of two 16-bit numbers is exact in float32, so only the order of the sums
// differs from a GPU.
namespace mgpu::tensor {

at::Tensor wide_product(const at::Tensor& x, const at::Tensor& w) {
  if (x.is_cuda()) return at::mm(x, w.t(), at::kFloat);
  return at::mm(x.to(at::kFloat), w.to(at::kFloat).t());
}

void add_wide_product(const at::Tensor& out, const at::Tensor& x, const at::Tensor& w) {
  at::Tensor sum = out;
  if (x.is_cuda())
    at::addmm_out(sum, sum, x, w.t(), at::kFloat);
  else
    sum.addmm_(x.to(at::kFloat), w.to(at::kFloat).t());
}

}  // namespace mgpu::tensor
