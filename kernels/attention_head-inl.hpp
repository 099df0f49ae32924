// Computes one head of attention in buffers that fit into the processor's caches. This file is
// compiled once per instruction set; see foreach_target.h of Highway.
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

#include "aligned_floats.hpp"
#include "philox-inl.hpp"
#include "small_product-inl.hpp"
#include "transpose_four-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Floats>;

constexpr std::size_t kRows = 2 * kTileRows;  // queries in a block
constexpr std::size_t kKeyVectors = 2;        // keys are processed in whole pairs of vectors

HWY_INLINE std::size_t round_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

/// Sizes and buffers for one head of one sequence at a time. A block is up to kRows consecutive
/// queries. The line of a token is its query, key, value or gradient in this head: head_dim
/// consecutive floats.
class HeadBuffers {
public:
  HeadBuffers(std::size_t sequence_tokens, std::size_t width)
      : lanes(hn::Lanes(Floats())),
        tokens(sequence_tokens),
        head_dim(width),
        keys_pitch(apart(round_up(tokens, lanes * kKeyVectors), lanes * kKeyVectors)),
        column_pitch(round_up(head_dim, lanes)),
        factor_pitch(round_up(keys_pitch, kDropoutRun)),
        memory_(aligned_floats(total())) {
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
    weighted_sums = take(kRows * column_pitch);
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
  float* k_columns;      // [head_dim, keys_pitch] transposed
  float* v_columns;      // [head_dim, keys_pitch] transposed
  float* k;              // [keys_pitch, column_pitch]
  float* v;              // [keys_pitch, column_pitch]
  float* grad_k;         // [keys_pitch, column_pitch]
  float* grad_v;         // [keys_pitch, column_pitch]
  float* q;              // [kRows, column_pitch] queries of the block, times the score scale
  float* grad_out;       // [kRows, column_pitch] gradients of the outputs of the block
  float* weighted_sums;  // [kRows, column_pitch] result of sum_weighted_lines()
  float* p;              // [kRows, keys_pitch] scores, later exp(score - max) or probabilities
  float* s;              // [kRows, keys_pitch] gradients of the probabilities, later of the scores
  float* factors;        // [kRows, factor_pitch] factors of dropout

private:
  /// Returns the distance between columns, in floats. This is `pitch`, unless `pitch` is a multiple
  /// of 64 floats (256 bytes). At a multiple, all columns would share a few L1 cache sets, so the
  /// result is pitch + tile.
  static std::size_t apart(std::size_t pitch, std::size_t tile) {
    return pitch % 64 == 0 ? pitch + tile : pitch;
  }

  std::size_t total() const {
    return 2 * head_dim * keys_pitch + 4 * keys_pitch * column_pitch +
           kRows * (3 * column_pitch + 2 * keys_pitch + factor_pitch);
  }

  hwy::AlignedFreeUniquePtr<float[]> memory_;
};

/// The place of one head of one sample in a tensor [B, T, parts, H, C], for B samples of T tokens
/// with H heads of width C. The tensor has 3 parts (queries, keys, values), or 1 part (outputs).
struct HeadPlace {
  std::size_t offset;  // index of the first element of token 0
  std::size_t stride;  // distance between tokens, in elements

  HeadPlace(const CausalAttentionArgs& args, std::size_t row, std::size_t head, std::size_t parts,
            std::size_t part)
      : offset((row * args.tokens * parts + part) * args.heads * args.head_dim +
               head * args.head_dim),
        stride(parts * args.heads * args.head_dim) {}
};

/// Prefetches the start of the line of token t + 16, or of the last line if token t + 16 does not
/// exist. Lines are too far apart for the hardware prefetcher.
HWY_INLINE void prefetch(const HeadBuffers& b, const float* from, std::size_t stride,
                         std::size_t t) {
  constexpr std::size_t kAhead = 16;  // distance of the prefetch, in tokens
  hwy::Prefetch(from + std::min(t + kAhead, b.tokens - 1) * stride);
}

/// Tokens begin .. end - 1 of a sequence.
struct Tokens {
  std::size_t begin;
  std::size_t end;
};

HWY_INLINE Tokens all_tokens(const HeadBuffers& b) {
  return {0, b.tokens};
}

/// Copies the lines of `tokens` to the buffer `to`. `from` points to the line of token 0.
HWY_INLINE void load_rows(const HeadBuffers& b, const float* from, std::size_t stride,
                          const Tokens& tokens, float* to) {
  for (std::size_t t = tokens.begin; t < tokens.end; ++t) {
    prefetch(b, from, stride, t);
    std::copy_n(from + t * stride, b.head_dim, to + t * b.column_pitch);
  }
}

/// Copies the lines of `tokens` to columns of the buffer `to`. `from` points to the line of token
/// 0.
HWY_INLINE void load_columns(const HeadBuffers& b, const float* from, std::size_t stride,
                             const Tokens& tokens, float* to) {
  std::size_t t = tokens.begin;
#if HWY_TARGET != HWY_SCALAR
  const std::size_t fours = b.head_dim % 4 == 0 ? (tokens.end - tokens.begin) / 4 : 0;
  for (const std::size_t end = t + 4 * fours; t < end; t += 4) {
    for (std::size_t next = t; next < t + 4; ++next)
      prefetch(b, from, stride, next);
    for (std::size_t c = 0; c < b.head_dim; c += 4)
      transpose_four(from + t * stride + c, stride, to + c * b.keys_pitch + t, b.keys_pitch);
  }
#endif
  for (; t < tokens.end; ++t) {
    prefetch(b, from, stride, t);
    for (std::size_t c = 0; c < b.head_dim; ++c)
      to[c * b.keys_pitch + t] = from[t * stride + c];
  }
}

/// Copies one row of head_dim values for each of `tokens` from the buffer `from` to another array,
/// whose rows are `stride` values apart. `to` points to the row of token 0 in that array.
HWY_INLINE void store_rows(const HeadBuffers& b, const float* from, std::size_t stride,
                           const Tokens& tokens, float* to) {
  for (std::size_t t = tokens.begin; t < tokens.end; ++t)
    std::copy_n(from + t * b.column_pitch, b.head_dim, to + t * stride);
}

/// Copies the rows of queries first .. first + rows - 1 to the buffer `to`, multiplied by `factor`.
/// `from` points to the row of token 0.
HWY_INLINE void load_block(const HeadBuffers& b, const float* from, std::size_t stride,
                           std::size_t first, std::size_t rows, float factor, float* to) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < b.head_dim; ++c)
      to[r * b.column_pitch + c] = from[(first + r) * stride + c] * factor;
}

/// Keys begin .. end - 1 of a sequence.
struct Keys {
  std::size_t begin;
  std::size_t end;
};

/// Returns the end of the keys that a block of queries reads, rounded up to whole pairs of vectors.
/// `first` is the first query of the block. A query also reads some keys after itself, with weight
/// 0. If the value of such a key has a NaN or infinity, 0 times this value is NaN, so the query's
/// result can be NaN.
HWY_INLINE std::size_t keys_of(const HeadBuffers& b, std::size_t first) {
  return std::min(round_up(first + kRows, b.lanes * kKeyVectors), b.keys_pitch);
}

/// Computes out[r, j] = sum_c of_rows[r, c] * columns[c, j] for each row r and each key j of
/// `keys`. The number of keys must be a multiple of the vector length.
HWY_INLINE void multiply_columns(const HeadBuffers& b, const float* of_rows, const float* columns,
                                 Keys keys, std::size_t rows, float* out) {
  small_product<Start::at_zero>({of_rows, b.column_pitch, 1}, {columns + keys.begin, b.keys_pitch},
                                b.head_dim, rows, keys.end - keys.begin,
                                {out + keys.begin, b.keys_pitch});
}

/// Computes b.weighted_sums[r, :] = sum_j of_keys[r, j] * lines[j, :].
HWY_INLINE void sum_weighted_lines(const HeadBuffers& b, const float* of_keys, const float* lines,
                                   Keys keys, std::size_t rows) {
  small_product<Start::at_zero>({of_keys + keys.begin, b.keys_pitch, 1},
                                {lines + keys.begin * b.column_pitch, b.column_pitch},
                                keys.end - keys.begin, rows, b.column_pitch,
                                {b.weighted_sums, b.column_pitch});
}

/// Computes grads[j, :] += sum_r of_keys[r, j] * of_rows[r, :].
HWY_INLINE void add_to_keys(const HeadBuffers& b, const float* of_keys, const float* of_rows,
                            Keys keys, std::size_t rows, float* grads) {
  small_product<Start::at_sums>({of_keys + keys.begin, 1, b.keys_pitch}, {of_rows, b.column_pitch},
                                rows, keys.end - keys.begin, b.column_pitch,
                                {grads + keys.begin * b.column_pitch, b.column_pitch});
}

/// Computes b.grad_k += s^T q, b.grad_v += p^T grad_out, and grad_q = scale * s k. On entry, s =
/// b.s has the gradients of the scores, and p = b.p has the probabilities after dropout.
HWY_INLINE void accumulate_grads(const HeadBuffers& b, Keys keys, std::size_t rows, float scale,
                                 float* grad_q, std::size_t stride) {
  add_to_keys(b, b.s, b.q, keys, rows, b.grad_k);
  add_to_keys(b, b.p, b.grad_out, keys, rows, b.grad_v);
  sum_weighted_lines(b, b.s, b.k, keys, rows);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < b.head_dim; ++c)
      grad_q[r * stride + c] = b.weighted_sums[r * b.column_pitch + c] * scale;
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
