#include <mgpu/base/error.hpp>
#include <mgpu/kernels/causal_attention.hpp>

#include "launch.cuh"

namespace mgpu::kernels::cuda {
void causal_attention(const CausalAttentionArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}
void causal_attention_grad(const CausalAttentionGradArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}
}  // namespace mgpu::kernels::cuda
