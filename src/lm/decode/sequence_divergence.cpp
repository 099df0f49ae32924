#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/token_divergence.hpp>

namespace mgpu::lm {
namespace {

GenerationConfig scoring_of(std::int64_t batch_size) {
  GenerationConfig config;
  config.max_new_tokens = 0;
  config.batch_size = batch_size;
  return config;
}

/// The consecutive rows of a piece (PromptPiece) that predict tokens of the completion.
struct PredictingRows {
  std::int64_t first_row = 0;    // index in the piece
  std::int64_t first_token = 0;  // index of the first predicted token in the completion
  std::int64_t count = 0;
};

/// Returns the rows of a piece that predict tokens of the completion. The state at position t - 1
/// of the sequence predicts token t.
PredictingRows predicting_rows(const PromptPiece& piece,
                               const SequenceDivergence::Sequence& sequence) {
  const auto first = static_cast<std::int64_t>(piece.first);
  const auto end = first + static_cast<std::int64_t>(piece.count);
  const std::int64_t begin = std::ssize(sequence.prompt) - 1;  // the position that predicts token 0
                                                               // of the completion
  const std::int64_t from = std::max(first, begin);
  return {from - first, from - begin, std::max<std::int64_t>(0, end - from)};
}

CandidateOffsets joined(const std::vector<CandidateOffsets>& parts) {
  if (parts.empty()) return {};
  std::vector<at::Tensor> ids;
  std::vector<at::Tensor> values;
  for (const CandidateOffsets& part : parts) {
    ids.push_back(part.ids);
    values.push_back(part.values);
  }
  return {at::cat(ids), at::cat(values), {}};
}

[[noreturn]] void fail_not_finite(std::int64_t token) {
  throw Failure({"E704",
                 ExitCode::numeric,
                 "the logits of the model or of its reference are not finite",
                 {"  token " + std::to_string(token) + " of a completion"},
                 ""});
}

}  // namespace

SequenceDivergence::SequenceDivergence(const LanguageModel& model, const LanguageModel& reference,
                                       double temperature, std::int64_t batch_size)
    : model_(model),
      reference_(reference),
      temperature_(temperature),
      of_model_(model, scoring_of(batch_size), {},
                [this](std::span<const PromptPiece> pieces, const at::Tensor& hidden) {
                  keep_states(pieces, hidden);
                }),
      of_reference_(reference, scoring_of(batch_size), {},
                    [this](std::span<const PromptPiece> pieces, const at::Tensor& hidden) {
                      compare(pieces, hidden);
                    }) {}

void SequenceDivergence::set_batch_size(std::int64_t batch_size) {
  of_model_.set_batch_size(batch_size);
  of_reference_.set_batch_size(batch_size);
}

std::vector<std::vector<double>> SequenceDivergence::run(std::span<const Sequence> sequences) {
  std::vector<std::vector<double>> all;
  const auto at_once = static_cast<std::size_t>(of_model_.batch_size());
  for (std::size_t first = 0; first < sequences.size(); first += at_once)
    run_batch(sequences.subspan(first, std::min(at_once, sequences.size() - first)), all);
  return all;
}

void SequenceDivergence::run_batch(std::span<const Sequence> batch,
                                   std::vector<std::vector<double>>& all) {
  std::vector<std::vector<std::int64_t>> ids;  // without the last token, which predicts nothing
  std::vector<Sequence> used;
  for (const Sequence& sequence : batch) {
    if (sequence.completion.empty()) continue;
    used.push_back(sequence);
    ids.emplace_back(sequence.prompt.begin(), sequence.prompt.end());
    ids.back().insert(ids.back().end(), sequence.completion.begin(), sequence.completion.end() - 1);
  }
  std::vector<Prompt> prompts;
  for (std::size_t i = 0; i < ids.size(); ++i)
    prompts.push_back({i, ids[i], 1});
  batch_ = used;
  states_.assign(used.size(), {});
  divergences_.clear();
  for (const Sequence& sequence : used)
    divergences_.emplace_back(sequence.completion.size(), 0.0);
  if (!used.empty()) {
    of_model_.run(prompts);
    of_reference_.run(prompts);
    share_divergences();
  }
  states_.clear();
  for (std::size_t i = 0, next = 0; i < batch.size(); ++i)
    all.push_back(batch[i].completion.empty() ? std::vector<double>()
                                              : std::move(divergences_[next++]));
}

/// Copies divergences_ from the first rank with the vocabulary head to the model's other ranks.
/// Ranks: collective over the ranks of the model
void SequenceDivergence::share_divergences() {
  ShardPeers* peers = model_.peers();
  if (peers == nullptr) return;
  if (peers->is_broadcast_root()) {
    std::string bytes;
    for (const std::vector<double>& values : divergences_)
      bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double));
    peers->post_broadcast(std::move(bytes));
  }
  const std::string bytes = peers->receive_broadcast();
  std::size_t at = 0;
  for (std::vector<double>& values : divergences_) {
    std::memcpy(values.data(), bytes.data() + at, values.size() * sizeof(double));
    at += values.size() * sizeof(double);
  }
}

void SequenceDivergence::keep_states(std::span<const PromptPiece> pieces,
                                     const at::Tensor& hidden) {
  std::int64_t row = 0;
  for (const PromptPiece& piece : pieces) {
    const Sequence& sequence = batch_[piece.prompt];
    const PredictingRows rows = predicting_rows(piece, sequence);
    at::Tensor& states = states_[piece.prompt];
    if (!states.defined())
      states = at::empty({std::ssize(sequence.completion), hidden.size(1)}, hidden.options());
    if (rows.count > 0)
      states.narrow(0, rows.first_token, rows.count)
          .copy_(hidden.narrow(0, row + rows.first_row, rows.count));
    row += static_cast<std::int64_t>(piece.count);
  }
}

void SequenceDivergence::compare(std::span<const PromptPiece> pieces, const at::Tensor& hidden) {
  std::vector<at::Tensor> mine;
  std::vector<at::Tensor> theirs;
  std::vector<CandidateOffsets> offsets;
  std::int64_t row = 0;
  for (const PromptPiece& piece : pieces) {
    const Sequence& sequence = batch_[piece.prompt];
    const PredictingRows rows = predicting_rows(piece, sequence);
    if (rows.count > 0) {
      if (offsets_ != nullptr)
        offsets.push_back(
            offsets_->of(sequence.sample, rows.first_token - sequence.begun, rows.count));
      mine.push_back(states_[piece.prompt].narrow(0, rows.first_token, rows.count));
      theirs.push_back(hidden.narrow(0, row + rows.first_row, rows.count));
    }
    row += static_cast<std::int64_t>(piece.count);
  }
  if (mine.empty()) return;
  const std::vector<double> values = token_divergence(
      {model_, at::cat(mine)}, {reference_, at::cat(theirs)}, temperature_, joined(offsets));
  auto value = values.begin();
  for (const PromptPiece& piece : pieces) {
    const PredictingRows rows = predicting_rows(piece, batch_[piece.prompt]);
    for (std::int64_t i = 0; i < rows.count; ++i, ++value) {
      if (!std::isfinite(*value)) fail_not_finite(rows.first_token + i);
      divergences_[piece.prompt][static_cast<std::size_t>(rows.first_token + i)] = *value;
    }
  }
}

}  // namespace mgpu::lm
