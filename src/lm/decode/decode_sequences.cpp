// Implements the operations of a decode session on its sequences between passes.
#include <algorithm>
#include <iterator>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/decode_session.hpp>

#include "decode_state.hpp"
#include "pass_builder.hpp"

namespace mgpu::lm {

DecodeSequence& DecodeState::at(std::int64_t sequence) {
  static_cast<void>(cache.length(sequence));  // throws if the sequence does not exist
  return sequences[static_cast<std::size_t>(sequence)];
}

DecodeSequence& DecodeState::begin(std::int64_t sequence, std::uint64_t sample) {
  const auto index = static_cast<std::size_t>(sequence);
  sequences.resize(std::max(sequences.size(), index + 1));
  sequences[index] = {};
  sequences[index].sample = sample;
  return sequences[index];
}

DecodePool::DecodePool(const LanguageModel& model, const PagedCache::Sizes& sizes)
    : state_(std::make_unique<DecodeState>(model, sizes)) {}
DecodePool::DecodePool(DecodePool&&) noexcept = default;
DecodePool& DecodePool::operator=(DecodePool&&) noexcept = default;
DecodePool::~DecodePool() = default;

const PagedCache& DecodePool::cache() const {
  return state_->cache;
}

const std::optional<ErrorReport>& DecodePool::failure() const {
  return state_->failure.known();
}

void DecodePool::reserve_rows(std::int64_t rows) {
  state_->failure.reserve(rows, state_->cache.keys(0).options().dtype(at::kFloat));
}

void DecodeSession::notify(const std::function<void(SequenceWatcher&)>& event) const {
  if (!has_head()) return;
  for (BlockProcessor* processor : config_.processors.blocks)
    event(*processor);
  if (config_.processors.candidate != nullptr) event(*config_.processors.candidate);
}

std::int64_t DecodeSession::add(std::uint64_t sample) {
  const std::int64_t sequence = state_->cache.add();
  state_->begin(sequence, sample);
  notify([&](SequenceWatcher& watcher) { watcher.added(sequence); });
  return sequence;
}

std::int64_t DecodeSession::fork(std::int64_t origin, std::uint64_t sample) {
  const std::int64_t copy = state_->cache.fork(origin);
  DecodeSequence& mine = state_->begin(copy, sample);
  mine = state_->at(origin);
  mine.sample = sample;
  if (mine.input.size > 0) waiting_->add(copy, mine.input);
  notify([&](SequenceWatcher& watcher) { watcher.forked(origin, copy, length(copy)); });
  return copy;
}

std::int64_t DecodeSession::fork_pages(std::int64_t origin, std::int64_t pages,
                                       std::uint64_t sample) {
  // A rank that has failed tracks only the lengths of sequences, because its cache may lack tokens.
  const std::int64_t copy =
      state_->failure.is_own() ? state_->cache.add() : state_->cache.fork(origin, pages);
  DecodeSequence& mine = state_->begin(copy, sample);
  const std::vector<std::int64_t>& context = state_->at(origin).context;
  const std::int64_t tokens = pages * state_->cache.page_tokens();
  const auto kept = std::min<std::ptrdiff_t>(std::ssize(context), tokens);
  mine.context.assign(context.begin(), context.begin() + kept);
  notify([&](SequenceWatcher& watcher) { watcher.forked(origin, copy, tokens); });
  return copy;
}

void DecodeSession::drop(std::int64_t sequence) {
  state_->cache.remove(sequence);
  state_->sequences[static_cast<std::size_t>(sequence)] = {};
  waiting_->forget(sequence);
  notify([&](SequenceWatcher& watcher) { watcher.dropped(sequence); });
}

void DecodeSession::prefill(std::int64_t sequence, std::span<const std::int64_t> ids,
                            const PrefillOptions& options) {
  DecodeSequence& it = state_->at(sequence);
  SequenceInput input;
  input.ids.assign(ids.begin(), ids.end());
  input.size = std::ssize(ids);
  await(sequence, std::move(input), options);
  it.context.insert(it.context.end(), ids.begin(), ids.end());
  notify([&](SequenceWatcher& watcher) { watcher.given(sequence, {ids, {}, options.length}); });
}

void DecodeSession::prefill(std::int64_t sequence, const at::Tensor& embeddings,
                            const PrefillOptions& options) {
  DecodeSequence& it = state_->at(sequence);
  if (embeddings.dim() != 2) throw ShapeError("DecodeSession: embeddings that are not [n, D]");
  SequenceInput input;
  input.embeddings = embeddings;
  input.size = embeddings.size(0);
  await(sequence, std::move(input), options);
  it.context.insert(it.context.end(), static_cast<std::size_t>(embeddings.size(0)), -1);
  notify([&](SequenceWatcher& watcher) {
    watcher.given(sequence, {{}, embeddings, options.length});
  });
}

void DecodeSession::await(std::int64_t sequence, SequenceInput input,
                          const PrefillOptions& options) {
  SequenceInput& waiting = state_->at(sequence).input;
  if (waiting.size > 0) throw Error("DecodeSession: the sequence has input that waits");
  if (input.size == 0) return;
  waiting = std::move(input);
  waiting.options = options;
  waiting_->add(sequence, waiting);
}

void DecodeSession::feed(std::span<const std::int64_t> sequences, const at::Tensor& ids) {
  if (ids.dim() != 1 || ids.size(0) != std::ssize(sequences))
    throw ShapeError("DecodeSession: not one token per sequence");
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    DecodeSequence& it = state_->at(sequences[s]);
    if (it.input.size > 0) throw Error("DecodeSession: the sequence has input that waits");
    it.input.device_ids = ids.narrow(0, static_cast<std::int64_t>(s), 1);
    it.input.size = 1;
    it.input.is_fed = true;
    it.context.push_back(-1);
    waiting_->add(sequences[s], it.input);
  }
}

bool DecodeSession::has_input() const {
  return !waiting_->is_empty();
}

bool DecodeSession::is_waiting(std::int64_t sequence) const {
  return state_->at(sequence).input.size > 0;
}

std::int64_t DecodeSession::length(std::int64_t sequence) const {
  return std::ssize(state_->at(sequence).context);
}

}  // namespace mgpu::lm
