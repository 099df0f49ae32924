// This kernel processes one key head of one sequence at a time. As in causal_attention_cpu.cpp, it
// multiplies up to 16 queries at a time by the keys to which they attend.
#include <algorithm>
#include <cmath>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/varlen_attention.hpp>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "varlen_attention_cpu.cpp"
// Highway requires foreach_target.h before all code that is compiled once per instruction set.
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

#include "attention_head-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mgpu::kernels::cpu::HWY_NAMESPACE {
namespace {

/// The places of the tokens of a sequence in the arrays of VarlenAttentionGradArgs.
struct SequencePlace {
  std::size_t prefix_begin;  // first token of the prefix
  std::size_t prefix;        // number of tokens of the prefix
  std::size_t begin;         // first own token
  std::size_t own;           // number of own tokens

  SequencePlace(const VarlenAttentionGradArgs& args, std::size_t sequence)
      : prefix_begin(value(args.prefix_begins, sequence)),
        prefix(value(args.prefix_counts, sequence)),
        begin(value(args.sequence_begins, sequence)),
        own(value(args.sequence_begins, sequence + 1) - begin) {}

  Tokens prefix_tokens() const { return {0, prefix}; }
  Tokens own_tokens() const { return {prefix, prefix + own}; }

  /// Returns begin - prefix, modulo 2^64. Positions count from the first token of the prefix.
  /// The sum of origin() and the position of an own token is the token's index in the arrays.
  std::size_t origin() const { return begin - prefix; }

private:
  static std::size_t value(const std::int64_t* values, std::size_t sequence) {
    return values == nullptr ? 0 : static_cast<std::size_t>(values[sequence]);
  }
};

/// One query head of one sequence. Before a function with a SequenceHead and HeadBuffers is called,
/// the buffers must hold the keys and values of the matching key head.
struct SequenceHead {
  const VarlenAttentionGradArgs& args;
  const SequencePlace& place;
  std::size_t head;

  std::size_t tokens() const { return place.prefix + place.own; }

  /// Returns where this head of a token begins in the arrays queries, grad_out and grad_queries.
  /// The token must not be in the prefix. `token` is its position, counted from the first token of
  /// the prefix.
  std::size_t line(std::size_t token) const {
    return ((place.origin() + token) * args.heads + head) * args.head_dim;
  }
  std::size_t stride() const { return args.heads * args.head_dim; }
  std::size_t first_key(std::size_t query) const {
    const auto window = static_cast<std::size_t>(args.window);
    return window == 0 || query < window ? 0 : query + 1 - window;
  }
};

/// Sets to -infinity the scores of the keys that the query does not attend to, so that exp makes
/// them 0.
void mask_unseen(const SequenceHead& sequence, std::size_t query, Keys keys, float* scores) {
  std::fill(scores + keys.begin, scores + std::max(keys.begin, sequence.first_key(query)),
            -INFINITY);
  std::fill(scores + std::min(keys.end, query + 1), scores + keys.end, -INFINITY);
}

/// Replaces the scores of `keys` by probabilities. Returns the probability of the attention sink,
/// or 0 if `sink` is null.
float softmax(const HeadBuffers& b, Keys keys, const float* sink, float* scores) {
  const Floats d;
  Vector tops = hn::Set(d, sink == nullptr ? -INFINITY : *sink);
  for (std::size_t j = keys.begin; j < keys.end; j += b.lanes)
    tops = hn::Max(tops, hn::Load(d, scores + j));
  const Vector top = hn::MaxOfLanes(d, tops);
  Vector sums = hn::Zero(d);
  for (std::size_t j = keys.begin; j < keys.end; j += b.lanes) {
    const Vector shifted = hn::Sub(hn::Load(d, scores + j), top);
    // NaN has to be kept explicitly, because hn::Exp would turn it into 0.
    const Vector e = hn::IfThenElse(hn::IsNaN(shifted), shifted, hn::Exp(d, shifted));
    sums = hn::Add(sums, e);
    hn::Store(e, d, scores + j);
  }
  const float of_sink = sink == nullptr ? 0.0F : std::exp(*sink - hn::GetLane(top));
  const float factor = 1.0F / (hn::GetLane(hn::SumOfLanes(d, sums)) + of_sink);
  for (std::size_t j = keys.begin; j < keys.end; j += b.lanes)
    hn::Store(hn::Mul(hn::Load(d, scores + j), hn::Set(d, factor)), d, scores + j);
  return of_sink * factor;
}

/// On entry, `grads` has the gradients of the probabilities `p`. Replaces these gradients by the
/// gradients of the scores. Returns sum_j p[j] * grads[j], with the values on entry.
float grad_scores(const HeadBuffers& b, Keys keys, const float* HWY_RESTRICT p,
                  float* HWY_RESTRICT grads) {
  const Floats d;
  Vector sums = hn::Zero(d);
  for (std::size_t j = keys.begin; j < keys.end; j += b.lanes)
    sums = hn::MulAdd(hn::Load(d, p + j), hn::Load(d, grads + j), sums);
  const Vector along = hn::SumOfLanes(d, sums);
  for (std::size_t j = keys.begin; j < keys.end; j += b.lanes) {
    const Vector grad = hn::Sub(hn::Load(d, grads + j), along);
    hn::Store(hn::Mul(hn::Load(d, p + j), grad), d, grads + j);
  }
  return hn::GetLane(along);
}

/// Computes the gradients of up to kRows queries of a head, from query `first` on. Adds the terms
/// of these queries to b.grad_k, b.grad_v and args.grad_sinks.
void backward_block(const SequenceHead& sequence, const HeadBuffers& b, std::size_t first) {
  const VarlenAttentionGradArgs& args = sequence.args;
  const std::size_t rows = std::min(kRows, sequence.tokens() - first);
  const std::size_t tile = b.lanes * kKeyVectors;
  const Keys tiles{sequence.first_key(first) / tile * tile, keys_of(b, first)};
  const std::size_t line = sequence.line(first);
  load_block(b, args.queries + line, sequence.stride(), 0, rows, args.scale, b.q);
  load_block(b, args.grad_out + line, sequence.stride(), 0, rows, 1.0F, b.grad_out);
  multiply_columns(b, b.q, b.k_columns, tiles, rows, b.p);
  multiply_columns(b, b.grad_out, b.v_columns, tiles, rows, b.s);
  for (std::size_t r = 0; r < rows; ++r) {
    float* p = b.p + r * b.keys_pitch;
    float* s = b.s + r * b.keys_pitch;
    mask_unseen(sequence, first + r, tiles, p);
    const float* sink = args.sinks == nullptr ? nullptr : args.sinks + sequence.head;
    const float of_sink = softmax(b, tiles, sink, p);
    const float along = grad_scores(b, tiles, p, s);
    if (sink != nullptr) args.grad_sinks[sequence.head] -= of_sink * along;
  }
  accumulate_grads(b, {tiles.begin, std::min(first + kRows, sequence.tokens())}, rows, args.scale,
                   args.grad_queries + line, sequence.stride());
}

/// Adds the lines of `tokens` in the buffer `from` to the lines of the same tokens in the array
/// `to`. `to` points to the line of token 0 of the sequence. The lines of `to` are `stride` apart.
void add_rows(const HeadBuffers& b, const float* from, std::size_t stride, const Tokens& tokens,
              float* to) {
  for (std::size_t t = tokens.begin; t < tokens.end; ++t)
    for (std::size_t c = 0; c < b.head_dim; ++c)
      to[t * stride + c] += from[t * b.column_pitch + c];
}

/// Computes the gradients of one key head and of all query heads that read it, in one sequence.
void backward_group(const VarlenAttentionGradArgs& args, const HeadBuffers& b,
                    const SequencePlace& place, std::size_t group) {
  const std::size_t stride = args.kv_heads * args.head_dim;
  const std::size_t own = place.origin() * stride + group * args.head_dim;
  const std::size_t prefix = place.prefix_begin * stride + group * args.head_dim;
  for (const auto& [from, tokens] :
       {std::pair{prefix, place.prefix_tokens()}, std::pair{own, place.own_tokens()}}) {
    load_columns(b, args.keys + from, stride, tokens, b.k_columns);
    load_columns(b, args.values + from, stride, tokens, b.v_columns);
    load_rows(b, args.keys + from, stride, tokens, b.k);
  }
  std::fill_n(b.grad_k, b.keys_pitch * b.column_pitch, 0.0F);
  std::fill_n(b.grad_v, b.keys_pitch * b.column_pitch, 0.0F);
  const std::size_t shared = args.heads / args.kv_heads;
  for (std::size_t head = group * shared; head < (group + 1) * shared; ++head)
    for (std::size_t first = place.prefix; first < b.tokens; first += kRows)
      backward_block({args, place, head}, b, first);
  store_rows(b, b.grad_k, stride, place.own_tokens(), args.grad_keys + own);
  store_rows(b, b.grad_v, stride, place.own_tokens(), args.grad_values + own);
  add_rows(b, b.grad_k, stride, place.prefix_tokens(), args.grad_keys + prefix);
  add_rows(b, b.grad_v, stride, place.prefix_tokens(), args.grad_values + prefix);
}

}  // namespace

void backward_sequences(const VarlenAttentionGradArgs& args) {
  for (std::size_t sequence = 0; sequence < args.num_sequences; ++sequence) {
    const SequencePlace place(args, sequence);
    if (place.own == 0) continue;
    const HeadBuffers b(place.prefix + place.own, args.head_dim);
    for (std::size_t group = 0; group < args.kv_heads; ++group)
      backward_group(args, b, place, group);
  }
}

}  // namespace mgpu::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mgpu::kernels::cpu {

HWY_EXPORT(backward_sequences);

namespace {

void check_prefixes(const VarlenAttentionGradArgs& args) {
  if (args.prefix_counts == nullptr) return;
  for (std::size_t s = 0; s < args.num_sequences; ++s)
    if (args.prefix_begins[s] < 0 || args.prefix_counts[s] < 0 ||
        args.prefix_begins[s] + args.prefix_counts[s] > args.sequence_begins[s])
      throw ShapeError("varlen_attention_grad: a prefix is not before its sequence");
}

}  // namespace

void varlen_attention_grad(const VarlenAttentionGradArgs& args) {
  if (args.kv_heads == 0 || args.heads % args.kv_heads != 0)
    throw ShapeError("varlen_attention_grad: key heads do not divide query heads");
  check_prefixes(args);
  HWY_DYNAMIC_DISPATCH(backward_sequences)(args);
}

}  // namespace mgpu::kernels::cpu
#endif
