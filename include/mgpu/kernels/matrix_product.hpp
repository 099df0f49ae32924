#pragma once

#include <cstddef>

// Shapes in this header: N rows, I inputs, O outputs.
namespace mgpu::kernels {

struct MatrixProductArgs {
  const float* x;       // [N, I] at n * row_stride + i * input_stride
  const float* weight;  // [O, I] at o * output_stride + i * weight_input_stride
  float* out;           // [N, O] written, or incremented
  std::size_t rows;     // N
  std::size_t inputs;   // I
  std::size_t outputs;  // O
  std::size_t row_stride;
  std::size_t input_stride;  // of x; row_stride or input_stride is 1
  std::size_t output_stride;
  std::size_t weight_input_stride;
  bool adds;  // add the product to the values in `out`
};

/// Computes out = x * weight^T on one thread. This function is for weights that are used in one
/// product only: packing them with pack_panels() would cost more than it saves. If `adds` is true,
/// each sum starts at the value in `out`. Otherwise each output has the same bits as with
/// packed_product(). There is no CUDA version, because on GPUs cuBLAS computes this product.
///
/// Memory: pointers on the host. Allocates up to 3 MiB.
/// Errors: ShapeError when neither row_stride nor input_stride is 1.
/// Source: Goto and van de Geijn, ACM TOMS 34 (2008): GEMM that packs blocks of both matrices.
namespace cpu {
void matrix_product(const MatrixProductArgs& args);
}  // namespace cpu

}  // namespace mgpu::kernels
