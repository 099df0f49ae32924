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

/// Sizes and buffers for one head at a time.
class HeadBuffers {
public:
  explicit HeadBuffers(const CausalAttentionArgs& args)
      : lanes(hn::Lanes(Floats())),
        tokens(args.tokens),
        head_dim(args.head_dim),
        keys_pitch(round_up(args.tokens, lanes * kTileVectors)),
        column_pitch(round_up(args.head_dim, lanes)),
        factor_pitch(round_up(args.tokens, kDropoutRun)),
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
  for (std::size_t t = 0; t < b.tokens; ++t) {
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

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
