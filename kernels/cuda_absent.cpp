// Replaces all files *_cuda.cu in a build without CUDA. This file defines the same functions, which
// throw NotBuiltError.
#include <mgpu/base/error.hpp>
#include <mgpu/kernels/accumulate.hpp>
#include <mgpu/kernels/adamw_step.hpp>
#include <mgpu/kernels/causal_attention.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/kernels/decoder_grads.hpp>
#include <mgpu/kernels/draw_with_replacement.hpp>
#include <mgpu/kernels/dropout.hpp>
#include <mgpu/kernels/gated_activation.hpp>
#include <mgpu/kernels/online_draw.hpp>
#include <mgpu/kernels/online_logsumexp.hpp>
#include <mgpu/kernels/paged_attention.hpp>
#include <mgpu/kernels/repetition_penalty.hpp>
#include <mgpu/kernels/rms_norm.hpp>
#include <mgpu/kernels/rotate_heads.hpp>
#include <mgpu/kernels/squared_norm.hpp>

namespace mgpu::kernels::cuda {

void adamw_step(const AdamwArgs& /*args*/, const AdamwRuns& /*runs*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void accumulate(const AccumulateArgs& /*args*/, CUstream_st* /*stream*/) {
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

void draw_with_replacement(const DrawWithReplacementArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void dropout(const DropoutArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void online_logsumexp(const OnlineLogsumexpArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void logits_grad(const LogitsGradArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void gated_activation(const GatedActivationArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void paged_attention(const PagedAttentionArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void repetition_penalty(const RepetitionPenaltyArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void rms_norm(const RmsNormArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void rotate_heads(const RotateHeadsArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void squared_norm(const SquaredNormArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

void online_draw(const OnlineDrawArgs& /*args*/, CUstream_st* /*stream*/) {
  throw NotBuiltError("CUDA");
}

}  // namespace mgpu::kernels::cuda
