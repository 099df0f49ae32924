#include <vector>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/decode_session.hpp>

#include "decode_state.hpp"
#include "lm/forward/attention.hpp"

namespace mgpu::lm {
namespace {

/// Returns the slots of the first `count` tokens of a sequence. A slot is an index into the cached
/// keys and values of a layer.
at::Tensor slots_of(const PagedCache& cache, std::int64_t sequence, std::int64_t count) {
  std::vector<std::int64_t> slots;
  for (std::int64_t token = 0; token < count; ++token)
    slots.push_back(cache.slot(sequence, token));
  return integers(slots, cache.keys(0));
}

/// Returns the mean of all[p] over the index tensors p in `places`, in the type of `all`.
at::Tensor mean_rows(const at::Tensor& all, std::span<const at::Tensor> places) {
  at::Tensor sum = all.index_select(0, places[0]).to(at::kFloat);
  for (const at::Tensor& place : places.subspan(1))
    sum.add_(all.index_select(0, place));
  return sum.div_(std::ssize(places)).to(all.scalar_type());
}

/// Copies the keys and values of the given tokens of `origin`, in all layers, to the first tokens
/// of `copy`.
void copy_tokens(PagedCache& cache, std::int64_t layers, std::int64_t origin,
                 const std::vector<std::int64_t>& tokens, std::int64_t copy) {
  std::vector<std::int64_t> from;
  std::vector<std::int64_t> to;
  for (const std::int64_t token : tokens) {
    from.push_back(cache.slot(origin, token));
    to.push_back(cache.slot(copy, std::ssize(to)));
  }
  const at::Tensor sources = integers(from, cache.keys(0));
  const at::Tensor places = integers(to, cache.keys(0));
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); ++layer)
    cache.write(layer, places, cache.keys(layer).index_select(0, sources),
                cache.values(layer).index_select(0, sources));
}

}  // namespace

std::int64_t DecodeSession::fork_tokens(std::int64_t origin, std::span<const Range> tokens,
                                        std::uint64_t sample) {
  if (!config_.processors.is_empty()) throw Error("DecodeSession: fork_tokens with processors");
  if (is_waiting(origin)) throw Error("DecodeSession: fork_tokens of pending input");
  std::vector<std::int64_t> kept;
  for (const Range& range : tokens)
    for (std::int64_t token = range.begin; token < range.end; ++token)
      kept.push_back(token);
  const std::int64_t copy = state_->cache.add();
  DecodeSequence& mine = state_->begin(copy, sample);
  const std::vector<std::int64_t>& context = state_->at(origin).context;
  for (const std::int64_t token : kept)
    mine.context.push_back(context.at(static_cast<std::size_t>(token)));
  // A rank that has failed tracks only the lengths of sequences, because its cache may lack tokens.
  if (state_->failure.is_own() || kept.empty()) return copy;
  state_->cache.extend(copy, std::ssize(kept));
  copy_tokens(state_->cache, model_->shard().layers.size(), origin, kept, copy);
  return copy;
}

std::int64_t DecodeSession::add_mean(std::span<const std::int64_t> origins, std::uint64_t sample) {
  if (!config_.processors.is_empty()) throw Error("DecodeSession: add_mean with processors");
  const std::int64_t count = length(origins[0]);
  for (const std::int64_t origin : origins)
    if (is_waiting(origin) || length(origin) != count)
      throw Error("DecodeSession: add_mean of pending input or of different lengths");
  const std::int64_t mean = state_->cache.add();
  DecodeSequence& mine = state_->begin(mean, sample);  // may move the states, so at() comes later
  mine.context = state_->at(origins[0]).context;
  if (state_->failure.is_own() || count == 0) return mean;
  state_->cache.extend(mean, count);
  std::vector<at::Tensor> places;
  for (const std::int64_t origin : origins)
    places.push_back(slots_of(state_->cache, origin, count));
  const at::Tensor to = slots_of(state_->cache, mean, count);
  const auto layers = static_cast<std::size_t>(model_->shard().layers.size());
  for (std::size_t layer = 0; layer < layers; ++layer)
    state_->cache.write(layer, to, mean_rows(state_->cache.keys(layer), places),
                        mean_rows(state_->cache.values(layer), places));
  return mean;
}

}  // namespace mgpu::lm
