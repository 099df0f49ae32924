// One head of attention in buffers that fit the caches, compiled once per instruction set; see
// foreach_target.h of Highway.
#if defined(MGPU_KERNELS_ATTENTION_HEAD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef MGPU_KERNELS_ATTENTION_HEAD_INL
#undef MGPU_KERNELS_ATTENTION_HEAD_INL
#else
#define MGPU_KERNELS_ATTENTION_HEAD_INL
#endif

#include <algorithm>
#include <cstring>
#include <utility>

#include <hwy/aligned_allocator.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <mgpu/kernels/causal_attention.hpp>

#include "philox-inl.hpp"
#include "transpose_four-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

// Query rows of a block and key vectors of a tile: what fits in the registers.
#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t kRows = 8;
#else
constexpr std::size_t kRows = 4;
#endif
constexpr std::size_t kTileVectors = 2;

HWY_INLINE std::size_t round_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// Sizes and buffers for one head of one sequence at a time.
class HeadBuffers {
public:
  HeadBuffers(std::size_t sequence_tokens, std::size_t width)
      : lanes(hn::Lanes(Floats())),
        tokens(sequence_tokens),
        head_dim(width),
        keys_pitch(apart(round_up(tokens, lanes * kTileVectors), lanes * kTileVectors)),
        column_pitch(round_up(head_dim, lanes)),
        factor_pitch(round_up(tokens, kDropoutRun)),
        memory_(hwy::AllocateAligned<float>(total())) {
    std::memset(memory_.get(), 0, total() * sizeof(float));
    float* next = memory_.get();
    const auto take = [&next](std::size_t count) { return std::exchange(next, next + count); };
    k_columns = take(head_dim * keys_pitch);
    v_columns = take(head_dim * keys_pitch);
    k = take(keys_pitch * column_pitch);
    v = take(keys_pitch * column_pitch);
    grad_k = take(keys_pitch * column_pitch);
    grad_v = take(keys_pitch * column_pitch);
    q = take(kRows * column_pitch);
    grad_out = take(kRows * column_pitch);
    p = take(kRows * keys_pitch);
    s = take(kRows * keys_pitch);
    factors = take(kRows * factor_pitch);
  }

  const std::size_t lanes;
  const std::size_t tokens;
  const std::size_t head_dim;
  const std::size_t keys_pitch;
  const std::size_t column_pitch;
  const std::size_t factor_pitch;
  float* k_columns;  // [C, keys_pitch] transposed
  float* v_columns;  // [C, keys_pitch] transposed
  float* k;          // [keys_pitch, column_pitch]
  float* v;          // [keys_pitch, column_pitch]
  float* grad_k;     // [keys_pitch, column_pitch]
  float* grad_v;     // [keys_pitch, column_pitch]
  float* q;          // [kRows, column_pitch] of the block, times 1 / sqrt(C)
  float* grad_out;   // [kRows, column_pitch] of the block
  float* p;          // [kRows, keys_pitch] probabilities of the block
  float* s;          // [kRows, keys_pitch] their gradients
  float* factors;    // [kRows, factor_pitch] dropout

private:
  /// Columns that lie a multiple of 256 bytes apart share too few sets of the first cache.
  static std::size_t apart(std::size_t pitch, std::size_t tile) {
    return pitch % 64 == 0 ? pitch + tile : pitch;
  }

  std::size_t total() const {
    return 2 * head_dim * keys_pitch + 4 * keys_pitch * column_pitch +
           kRows * (2 * column_pitch + 2 * keys_pitch + factor_pitch);
  }

  hwy::AlignedFreeUniquePtr<float[]> memory_;
};

/// Where one head of one sample lies in [B, T, parts, H, C].
struct HeadPlace {
  std::size_t offset;  // of token 0
  std::size_t stride;  // between tokens

  HeadPlace(const CausalAttentionArgs& args, std::size_t row, std::size_t head, std::size_t parts,
            std::size_t part)
      : offset((row * args.tokens * parts + part) * args.heads * args.head_dim +
               head * args.head_dim),
        stride(parts * args.heads * args.head_dim) {}
};

/// Asks for a token that will be read soon: a head's rows are too far apart for the hardware to
/// see them coming.
HWY_INLINE void prefetch(const HeadBuffers& b, const float* from, std::size_t stride,
                         std::size_t t) {
  constexpr std::size_t kAhead = 16;  // tokens
  hwy::Prefetch(from + std::min(t + kAhead, b.tokens - 1) * stride);
}

HWY_INLINE void load_rows(const HeadBuffers& b, const float* from, std::size_t stride, float* to) {
  for (std::size_t t = 0; t < b.tokens; ++t) {
    prefetch(b, from, stride, t);
    std::copy_n(from + t * stride, b.head_dim, to + t * b.column_pitch);
  }
}

HWY_INLINE void load_columns(const HeadBuffers& b, const float* from, std::size_t stride,
                             float* to) {
  std::size_t t = 0;
#if HWY_TARGET != HWY_SCALAR
  const std::size_t whole = b.head_dim % 4 == 0 ? b.tokens / 4 * 4 : 0;
  for (; t < whole; t += 4) {
    for (std::size_t next = t; next < t + 4; ++next)
      prefetch(b, from, stride, next);
    for (std::size_t c = 0; c < b.head_dim; c += 4)
      transpose_four(from + t * stride + c, stride, to + c * b.keys_pitch + t, b.keys_pitch);
  }
#endif
  for (; t < b.tokens; ++t) {
    prefetch(b, from, stride, t);
    for (std::size_t c = 0; c < b.head_dim; ++c)
      to[c * b.keys_pitch + t] = from[t * stride + c];
  }
}

HWY_INLINE void store_rows(const HeadBuffers& b, const float* from, std::size_t stride, float* to) {
  for (std::size_t t = 0; t < b.tokens; ++t)
    std::copy_n(from + t * b.column_pitch, b.head_dim, to + t * stride);
}

/// Rows first .. first + kRows - 1 times a factor; rows past the end are 0.
HWY_INLINE void load_block(const HeadBuffers& b, const float* from, std::size_t stride,
                           std::size_t first, float factor, float* to) {
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t c = 0; c < b.head_dim; ++c)
      to[r * b.column_pitch + c] =
          first + r < b.tokens ? from[(first + r) * stride + c] * factor : 0.0F;
}

/// Keys begin .. end - 1 of a sequence.
struct Keys {
  std::size_t begin;
  std::size_t end;
};

/// End of the keys that a block of queries looks at, in whole tiles.
HWY_INLINE std::size_t keys_of(const HeadBuffers& b, std::size_t first) {
  return std::min(round_up(first + kRows, b.lanes * kTileVectors), b.keys_pitch);
}

/// out[r, j] = sum_c rows[r, c] * columns[c, j] for the keys, which are whole tiles.
HWY_INLINE void multiply_columns(const HeadBuffers& b, const float* HWY_RESTRICT rows,
                                 const float* HWY_RESTRICT columns, Keys keys,
                                 float* HWY_RESTRICT out) {
  const Floats d;
  const std::size_t tile = b.lanes * kTileVectors;
  for (std::size_t j = keys.begin; j < keys.end; j += tile) {
    Vector sums[kRows][kTileVectors];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (std::size_t n = 0; n < kTileVectors; ++n)
        sums[r][n] = hn::Zero(d);
    for (std::size_t c = 0; c < b.head_dim; ++c) {
      const float* column = columns + c * b.keys_pitch + j;
      const Vector first = hn::Load(d, column);
      const Vector second = hn::Load(d, column + b.lanes);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kRows; ++r) {
        const Vector x = hn::Set(d, rows[r * b.column_pitch + c]);
        sums[r][0] = hn::MulAdd(x, first, sums[r][0]);
        sums[r][1] = hn::MulAdd(x, second, sums[r][1]);
      }
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 2
      for (std::size_t n = 0; n < kTileVectors; ++n)
        hn::Store(sums[r][n], d, out + r * b.keys_pitch + j + n * b.lanes);
  }
}

/// grad_k += s^T q, grad_v += p^T grad_out, and grad_q = s k for the rows that exist.
HWY_INLINE void accumulate_grads(const HeadBuffers& b, Keys keys, std::size_t rows, float scale,
                                 float* grad_q, std::size_t stride) {
  const Floats d;
  HWY_ALIGN float lines[kRows * 16];
  for (std::size_t c = 0; c < b.column_pitch; c += b.lanes) {
    Vector q[kRows];
    Vector grad_out[kRows];
    Vector sums[kRows];
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r) {
      q[r] = hn::Load(d, b.q + r * b.column_pitch + c);
      grad_out[r] = hn::Load(d, b.grad_out + r * b.column_pitch + c);
      sums[r] = hn::Zero(d);
    }
    for (std::size_t j = keys.begin; j < keys.end; ++j) {
      const std::size_t at = j * b.column_pitch + c;
      const Vector k = hn::Load(d, b.k + at);
      Vector grad_k = hn::Load(d, b.grad_k + at);
      Vector grad_v = hn::Load(d, b.grad_v + at);
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kRows; ++r) {
        const Vector s = hn::Set(d, b.s[r * b.keys_pitch + j]);
        sums[r] = hn::MulAdd(s, k, sums[r]);
        grad_k = hn::MulAdd(s, q[r], grad_k);
        grad_v = hn::MulAdd(hn::Set(d, b.p[r * b.keys_pitch + j]), grad_out[r], grad_v);
      }
      hn::Store(grad_k, d, b.grad_k + at);
      hn::Store(grad_v, d, b.grad_v + at);
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRows; ++r)
      hn::Store(sums[r], d, lines + r * b.lanes);
    const std::size_t columns = std::min(b.lanes, b.head_dim - c);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t i = 0; i < columns; ++i)
        grad_q[r * stride + c + i] = lines[r * b.lanes + i] * scale;
  }
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
