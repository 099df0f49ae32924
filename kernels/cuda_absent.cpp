// Replaces every *_cuda.cu in a build without CUDA: the same symbols throw NotBuiltError.
#include <mgpu/base/error.hpp>
#include <mgpu/kernels/adamw_step.hpp>
#include <mgpu/kernels/add_into.hpp>
#include <mgpu/kernels/causal_attention.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/kernels/draw_many.hpp>
#include <mgpu/kernels/dropout.hpp>
#include <mgpu/kernels/fold_logits.hpp>
#include <mgpu/kernels/gated_activation.hpp>
#include <mgpu/kernels/paged_attention.hpp>
#include <mgpu/kernels/rms_norm.hpp>
#include <mgpu/kernels/rotate_heads.hpp>
#include <mgpu/kernels/sample_action.hpp>
#include <mgpu/kernels/squared_norm.hpp>
#include <mgpu/kernels/stream_draw.hpp>

namespace mgpu::kernels::cuda {

void adamw_step(const AdamwArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void add_into(const AddIntoArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void causal_attention(const CausalAttentionArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void causal_attention_grad(const CausalAttentionGradArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void cross_entropy(const CrossEntropyArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void draw_many(const DrawManyArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void dropout(const DropoutArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void fold_logits(const FoldLogitsArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void gated_activation(const GatedActivationArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void paged_attention(const PagedAttentionArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void rms_norm(const RmsNormArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void rotate_heads(const RotateHeadsArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void sample_action(const SampleActionArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void squared_norm(const SquaredNormArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void stream_draw(const StreamDrawArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

}  // namespace mgpu::kernels::cuda
