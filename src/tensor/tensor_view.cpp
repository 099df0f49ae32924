#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/tensor/tensor_view.hpp>

namespace mgpu::tensor {

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return at::kFloat;
    case DType::f64:
      return at::kDouble;
    case DType::f16:
      return at::kHalf;
    case DType::bf16:
      return at::kBFloat16;
    case DType::i32:
      return at::kInt;
    case DType::i64:
      return at::kLong;
    case DType::u8:
      return at::kByte;
    case DType::u32:
      return at::kUInt32;
    case DType::u64:
      return at::kUInt64;
  }
  throw Error("unknown DType");
}

DType dtype_of(at::ScalarType type) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64,
                            DType::u8, DType::u32, DType::u64})
    if (scalar_type(dtype) == type) return dtype;
  throw Error(std::string("no DType for tensors of ") + at::toString(type));
}

namespace {

BufferView view_on(Device device, const at::Tensor& tensor) {
  if (!tensor.is_contiguous()) throw ShapeError("a tensor to be viewed is not contiguous");
  return {tensor.mutable_data_ptr(), static_cast<std::size_t>(tensor.numel()),
          dtype_of(tensor.scalar_type()), device};
}

}  // namespace

BufferView view_of(const at::Tensor& tensor) {
  return view_on(mgpu_device(tensor), tensor);
}

BufferView host_view_of(const at::Tensor& tensor) {
  if (!tensor.is_cpu()) throw Error("a tensor to be viewed is not in host memory");
  return view_on({}, tensor);
}

}  // namespace mgpu::tensor
