// Implements the functions of DecodeSession for passes and draws: pass(), hidden(), draw(), take(),
// forget() and step().
#include <cstring>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "decode_state.hpp"
#include "head_stage.hpp"
#include "lm/forward/attention.hpp"
#include "pass_builder.hpp"

namespace mgpu::lm {

DecodeSession::DecodeSession(const LanguageModel& model, DecodePool& pool, DecodeConfig config)
    : model_(&model),
      state_(pool.state_.get()),
      config_(std::move(config)),
      sampler_(config_.sampling),
      waiting_(std::make_unique<PassBuilder>()) {
  if (config_.prefill_tokens == 0) config_.prefill_tokens = model.sizes().prefill_tokens;
  if (config_.prefill_tokens < 0) throw Error("DecodeSession: prefill_tokens is negative");
}
DecodeSession::DecodeSession(DecodeSession&&) noexcept = default;
DecodeSession::~DecodeSession() = default;

const PassView& DecodeSession::pass() {
  view_ = {};
  BuiltPass built = waiting_->build(*state_, config_.prefill_tokens);
  if (built.spans.empty()) return view_;
  view_.hidden = state_->failure.hidden(built.spans, state_->cache);
  view_.pieces = std::move(built.pieces);
  keep_states(built.fed);
  return view_;
}

/// For each sequence whose input the pass has finished, keeps the newest hidden state. If the pass
/// also has other rows, the function copies these states to a new tensor, so that the tensor of all
/// rows can be freed.
void DecodeSession::keep_states(const std::vector<std::int64_t>& fed) {
  std::vector<std::int64_t> ended = fed;
  std::vector<std::int64_t> rows(fed.size());
  std::iota(rows.begin(), rows.end(), 0);
  auto row = std::ssize(fed);
  for (SeenPiece& piece : view_.pieces) {
    piece.row = std::exchange(row, row + piece.rows);
    if (!piece.is_last) continue;
    ended.push_back(piece.sequence);
    rows.push_back(row - 1);
  }
  at::Tensor states;  // [ended, D]
  if (has_head() && !rows.empty()) {
    state_->failure.attempt([&] {
      const bool is_all = std::ssize(rows) == view_.hidden.size(0);
      states = is_all ? view_.hidden : view_.hidden.index_select(0, integers(rows, view_.hidden));
    });
  }
  for (std::size_t i = 0; i < ended.size(); ++i) {
    DecodeSequence& it = state_->at(ended[i]);
    it.input = {};
    it.states = states;
    it.row = static_cast<std::int64_t>(i);
  }
}

/// Returns the newest hidden state of each sequence, [sequences, D]. Only ranks with the head may
/// call this function. If the states are consecutive rows of one tensor, the result is a view of
/// that tensor.
at::Tensor DecodeSession::rows_of(std::span<const std::int64_t> sequences) const {
  std::vector<at::Tensor> parts;
  for (std::size_t s = 0; s < sequences.size();) {
    const DecodeSequence& first = state_->at(sequences[s]);
    if (!first.states.defined()) throw Error("DecodeSession: a sequence without a hidden state");
    std::int64_t count = 0;
    const auto continues = [&] {
      if (s == sequences.size()) return false;
      const DecodeSequence& next = state_->at(sequences[s]);
      return next.states.is_same(first.states) && next.row == first.row + count;
    };
    for (; continues(); ++s)
      ++count;
    parts.push_back(first.states.narrow(0, first.row, count));
  }
  if (parts.empty()) return at::empty({0, model_->config().hidden_size}, at::kFloat);
  return parts.size() == 1 ? parts.front() : at::cat(parts);
}

at::Tensor DecodeSession::hidden(std::span<const std::int64_t> sequences) {
  for (const std::int64_t sequence : sequences)
    if (state_->at(sequence).input.size > 0)
      throw Error("DecodeSession: a state of input that waits");
  ShardPeers* peers = model_->peers();
  if (peers == nullptr) return rows_of(sequences);
  state_->failure.check();
  at::Tensor rows;
  if (has_head()) rows = rows_of(sequences).contiguous();
  if (model_->shard().is_tensor_parallel) return rows;
  if (peers->is_broadcast_root()) {
    const at::Tensor host = tensor::read_back(rows);
    peers->post_broadcast({static_cast<const char*>(host.const_data_ptr()), host.nbytes()});
  }
  const std::string message = peers->receive_broadcast();
  if (has_head()) return rows;
  const at::Tensor heard =
      at::empty({std::ssize(sequences), model_->config().hidden_size}, at::kFloat);
  std::memcpy(heard.mutable_data_ptr(), message.data(), heard.nbytes());
  return heard.to(state_->cache.keys(0).device());
}

std::vector<DrawSite> DecodeSession::sites_of(std::span<const std::int64_t> sequences) const {
  std::vector<DrawSite> sites;
  for (const std::int64_t sequence : sequences) {
    const DecodeSequence& it = state_->at(sequence);
    if (it.input.size > 0) throw Error("DecodeSession: a draw before a sequence's input was seen");
    sites.push_back({it.sample, it.draws, it.context, sequence});
  }
  return sites;
}

void DecodeSession::draw(std::span<const std::int64_t> sequences, const HeadRequests& requests) {
  if (is_drawing_) throw Error("DecodeSession: a draw before the last one was taken");
  drawing_.assign(sequences.begin(), sequences.end());
  const std::vector<DrawSite> sites = sites_of(drawing_);
  const HeadStage head{*model_, sampler_, config_.processors};
  is_drawing_ = true;
  state_->failure.publish_outcome(
      [&] { return head.run(requests, sites, [&] { return rows_of(drawing_); }); });
  view_ = {};
}

std::optional<Drawn> DecodeSession::take() {
  if (!is_drawing_) throw Error("DecodeSession: nothing was drawn");
  is_drawing_ = false;
  PassOutcome outcome = state_->failure.receive_outcome();
  if (outcome.failure) return std::nullopt;
  for (std::size_t s = 0; s < drawing_.size(); ++s) {
    DecodeSequence& it = state_->at(drawing_[s]);
    ++it.draws;
    it.context.push_back(outcome.tokens[s].id);
    it.input.ids = {outcome.tokens[s].id};
    it.input.size = 1;
    it.input.is_fed = true;
    waiting_->add(drawing_[s], it.input);
  }
  return Drawn{std::move(outcome.tokens), std::move(outcome.scores)};
}

void DecodeSession::forget() {
  if (std::exchange(is_drawing_, false)) state_->failure.receive_outcome();
}

std::vector<DrawnToken> DecodeSession::step(std::span<const std::int64_t> sequences) {
  std::vector<DrawnToken> tokens;
  run_on_all_or_fail(model_->peers(), [&] {
    pass();
    draw(sequences);
    std::optional<Drawn> drawn = take();
    if (!drawn) throw Failure(*state_->failure.known());
    tokens = std::move(drawn->tokens);
  });
  return tokens;
}

}  // namespace mgpu::lm
