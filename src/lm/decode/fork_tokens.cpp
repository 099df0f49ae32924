#include <vector>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/decode_session.hpp>

#include "decode_state.hpp"
#include "lm/forward/attention.hpp"

namespace mgpu::lm {
namespace {

/// Copies keys and values of tokens of `origin` to the first tokens of `copy`.
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
  // A failed rank tracks only the lengths of sequences, because its cache may have fewer tokens.
  if (state_->failure.is_own() || kept.empty()) return copy;
  state_->cache.extend(copy, std::ssize(kept));
  copy_tokens(state_->cache, model_->shard().layers.size(), origin, kept, copy);
  return copy;
}

}  // namespace mgpu::lm
