// These kernels process one head of one sample at a time, so that its keys and values stay in the
// L1 and L2 caches. They multiply up to 16 queries at a time by all keys up to the position of the
// last of these queries. When they compute scores or gradients of probabilities, each SIMD lane
// holds one key, and the kernels read a transposed copy of the keys or values. In the other
// products, each lane holds one column of the head.
#include <algorithm>
#include <cmath>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/causal_attention.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "causal_attention_cpu.cpp"
// Highway requires foreach_target.h before all code that is compiled once per instruction set.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include "attention_head-inl.hpp"
#include "philox-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace {

/// Sets the scores of keys after the query to -infinity, so that exp makes them 0.
void mask_future(std::size_t query, std::size_t keys, float* p) {
  if (query + 1 < keys) std::fill(p + query + 1, p + keys, -INFINITY);
}

/// Replaces the scores of one query by exp(score - max), times the dropout factors if any. The
/// entries of keys after the query become 0. Returns the sum of exp(score - max) before dropout,
/// and writes the maximum to `top_out`.
float softmax_row(const HeadBuffers& b, std::size_t query, std::size_t keys, const float* factors,
                  float* HWY_RESTRICT p, float* top_out) {
  const Floats d;
  mask_future(query, keys, p);
  Vector tops = hn::Set(d, -INFINITY);
  for (std::size_t j = 0; j < keys; j += b.lanes)
    tops = hn::Max(tops, hn::Load(d, p + j));
  const Vector top = hn::MaxOfLanes(d, tops);
  Vector sums = hn::Zero(d);
  for (std::size_t j = 0; j < keys; j += b.lanes) {
    const Vector e = hn::Exp(d, hn::Sub(hn::Load(d, p + j), top));
    sums = hn::Add(sums, e);
    hn::Store(factors == nullptr ? e : hn::Mul(e, hn::Load(d, factors + j)), d, p + j);
  }
  *top_out = hn::GetLane(top);
  return hn::GetLane(hn::SumOfLanes(d, sums));
}

/// Writes the dropout factors of a block of queries to b.factors. Does nothing without dropout.
/// `first` is the block's first query.
void fill_factors(const CausalAttentionArgs& args, const HeadBuffers& b, std::size_t row,
                  std::size_t head, std::size_t first) {
  if (args.dropout.threshold == 0) return;
  const auto sample = static_cast<std::uint64_t>(args.samples[row]);
  for (std::size_t r = 0; r < kRows && first + r < args.tokens; ++r) {
    const std::size_t line = (first + r) * args.heads + head;
    for (std::size_t j = 0; j <= first + r; j += kDropoutRun)
      dropout_factors(args.dropout, sample, (line * kAttentionPitch + j) / kDropoutRun,
                      b.factors + r * b.factor_pitch + j);
  }
}

void forward_head(const CausalAttentionArgs& args, HeadBuffers& b, std::size_t row,
                  std::size_t head) {
  const HeadPlace q(args, row, head, 3, 0);
  const HeadPlace k(args, row, head, 3, 1);
  const HeadPlace v(args, row, head, 3, 2);
  const HeadPlace out(args, row, head, 1, 0);
  const float scale = 1.0F / std::sqrt(static_cast<float>(args.head_dim));
  load_columns(b, args.qkv + k.offset, k.stride, all_tokens(b), b.k_columns);
  load_rows(b, args.qkv + v.offset, v.stride, all_tokens(b), b.v);
  for (std::size_t first = 0; first < args.tokens; first += kRows) {
    const std::size_t rows = std::min(kRows, args.tokens - first);
    const std::size_t keys = keys_of(b, first);
    load_block(b, args.qkv + q.offset, q.stride, first, rows, scale, b.q);
    multiply_columns(b, b.q, b.k_columns, {0, keys}, rows, b.p);
    fill_factors(args, b, row, head, first);
    float scales[kRows];
    for (std::size_t r = 0; r < rows; ++r) {
      const float* factors = args.dropout.threshold == 0 ? nullptr : b.factors + r * b.factor_pitch;
      float top = 0.0F;
      const float sum = softmax_row(b, first + r, keys, factors, b.p + r * b.keys_pitch, &top);
      scales[r] = 1.0F / sum;
      args.log_sums[(row * args.heads + head) * args.tokens + first + r] = top + std::log(sum);
    }
    sum_weighted_lines(b, b.p, b.v, {0, std::min(first + kRows, args.tokens)}, rows);
    float* line = args.out + out.offset + first * out.stride;
    for (std::size_t r = 0; r < rows; ++r, line += out.stride)
      for (std::size_t c = 0; c < b.head_dim; ++c)
        line[c] = b.weighted_sums[r * b.column_pitch + c] * scales[r];
  }
}

/// Computes the gradients of the scores of row r (one query). On entry, row r of b.p has scores,
/// and row r of b.s has the gradients of the probabilities after dropout. On return, the row of b.p
/// has these probabilities, and the row of b.s has the gradients of the scores. `log_sum` is the
/// log of the sum of exp(score), and `delta` is the dot product of the output and its gradient.
void grad_row(const HeadBuffers& b, std::size_t r, std::size_t query, std::size_t keys, bool drops,
              float log_sum, float delta) {
  const Floats d;
  float* HWY_RESTRICT p = b.p + r * b.keys_pitch;
  float* HWY_RESTRICT s = b.s + r * b.keys_pitch;
  const float* factors = b.factors + r * b.factor_pitch;
  mask_future(query, keys, p);
  for (std::size_t j = 0; j < keys; j += b.lanes) {
    const Vector shifted = hn::Sub(hn::Load(d, p + j), hn::Set(d, log_sum));
    const Vector e = hn::Exp(d, shifted);
    const Vector factor = drops ? hn::Load(d, factors + j) : hn::Set(d, 1.0F);
    const Vector grad = hn::MulSub(hn::Load(d, s + j), factor, hn::Set(d, delta));
    hn::Store(hn::Mul(e, factor), d, p + j);
    hn::Store(hn::Mul(e, grad), d, s + j);
  }
}

/// Computes the gradients of a block of up to kRows queries, from query `first` on. Adds the terms
/// of these queries to b.grad_k and b.grad_v.
void backward_block(const CausalAttentionGradArgs& grad, HeadBuffers& b, std::size_t row,
                    std::size_t head, std::size_t first) {
  const CausalAttentionArgs& args = grad.forward;
  const HeadPlace q(args, row, head, 3, 0);
  const HeadPlace out(args, row, head, 1, 0);
  const std::size_t rows = std::min(kRows, args.tokens - first);
  const std::size_t keys = keys_of(b, first);
  const float scale = 1.0F / std::sqrt(static_cast<float>(args.head_dim));
  load_block(b, args.qkv + q.offset, q.stride, first, rows, scale, b.q);
  load_block(b, grad.grad_out + out.offset, out.stride, first, rows, 1.0F, b.grad_out);
  multiply_columns(b, b.q, b.k_columns, {0, keys}, rows, b.p);
  multiply_columns(b, b.grad_out, b.v_columns, {0, keys}, rows, b.s);
  fill_factors(args, b, row, head, first);
  for (std::size_t r = 0; r < rows; ++r) {
    const float* line = args.out + out.offset + (first + r) * out.stride;
    const float log_sum = args.log_sums[(row * args.heads + head) * args.tokens + first + r];
    float delta = 0.0F;
    for (std::size_t c = 0; c < b.head_dim; ++c)
      delta += line[c] * b.grad_out[r * b.column_pitch + c];
    grad_row(b, r, first + r, keys, args.dropout.threshold != 0, log_sum, delta);
  }
  accumulate_grads(b, {0, std::min(first + kRows, args.tokens)}, rows, scale,
                   grad.grad_qkv + q.offset + first * q.stride, q.stride);
}

void backward_head(const CausalAttentionGradArgs& grad, HeadBuffers& b, std::size_t row,
                   std::size_t head) {
  const CausalAttentionArgs& args = grad.forward;
  const HeadPlace k(args, row, head, 3, 1);
  const HeadPlace v(args, row, head, 3, 2);
  load_columns(b, args.qkv + k.offset, k.stride, all_tokens(b), b.k_columns);
  load_columns(b, args.qkv + v.offset, v.stride, all_tokens(b), b.v_columns);
  load_rows(b, args.qkv + k.offset, k.stride, all_tokens(b), b.k);
  std::fill_n(b.grad_k, b.keys_pitch * b.column_pitch, 0.0F);
  std::fill_n(b.grad_v, b.keys_pitch * b.column_pitch, 0.0F);
  for (std::size_t first = 0; first < args.tokens; first += kRows)
    backward_block(grad, b, row, head, first);
  store_rows(b, b.grad_k, k.stride, all_tokens(b), grad.grad_qkv + k.offset);
  store_rows(b, b.grad_v, v.stride, all_tokens(b), grad.grad_qkv + v.offset);
}

}  // namespace

void attention_forward(const CausalAttentionArgs& args) {
  HeadBuffers buffers(args.tokens, args.head_dim);
  for (std::size_t row = 0; row < args.rows; ++row)
    for (std::size_t head = 0; head < args.heads; ++head)
      forward_head(args, buffers, row, head);
}

void attention_backward(const CausalAttentionGradArgs& args) {
  HeadBuffers buffers(args.forward.tokens, args.forward.head_dim);
  for (std::size_t row = 0; row < args.forward.rows; ++row)
    for (std::size_t head = 0; head < args.forward.heads; ++head)
      backward_head(args, buffers, row, head);
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {
namespace {

HWY_EXPORT(attention_forward);
HWY_EXPORT(attention_backward);

void check(const CausalAttentionArgs& args) {
  if (args.head_dim == 0 || args.head_dim > kMaxHeadDim)
    throw ShapeError("causal_attention: the head is not 1 to 64 wide");
  if (args.tokens > kAttentionPitch) throw ShapeError("causal_attention: too many tokens");
}

}  // namespace

void causal_attention(const CausalAttentionArgs& args) {
  check(args);
  HWY_DYNAMIC_DISPATCH(attention_forward)(args);
}

void causal_attention_grad(const CausalAttentionGradArgs& args) {
  check(args.forward);
  HWY_DYNAMIC_DISPATCH(attention_backward)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
