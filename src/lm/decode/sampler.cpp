#include <algorithm>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/online_logsumexp.hpp>
#include <mgpu/lm/decode/logit_processors.hpp>
#include <mgpu/lm/decode/sampler.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "draw_bits.hpp"
#include "draw_from_best.hpp"
#include "offset_divergence.hpp"
#include "online_draw.hpp"
#include "top_k_top_p.hpp"
#include "truncate_distributions.hpp"

namespace mgpu::lm {
namespace {

/// Sets DrawnToken::log_prob of all tokens, from the unchanged logits of the model.
void score(const SampledRows& rows, std::vector<DrawnToken>& tokens) {
  std::vector<std::int64_t> ids;
  for (const DrawnToken& token : tokens)
    ids.push_back(token.id);
  const at::Tensor targets =
      at::tensor(ids, at::TensorOptions().dtype(at::kLong)).to(rows.hidden.device());
  const at::Tensor log_probs =
      tensor::read_back(apply_head(rows.model, rows.hidden, targets, 0).log_probs);
  for (std::size_t n = 0; n < tokens.size(); ++n)
    tokens[n].log_prob = log_probs.const_data_ptr<float>()[n];
}

RandomStream stream_of(const SamplingConfig& config, const DrawSite& site) {
  return {config.seed, Purpose::sampling, config.round, site.sample};
}

std::vector<DrawnToken> draw_truncated(const SampledRows& rows, const SamplingConfig& config) {
  const std::vector<TruncatedDistribution> truncated = truncate_distributions(rows, config);
  std::vector<DrawnToken> tokens;
  bool is_scored = true;
  for (std::size_t n = 0; n < truncated.size(); ++n) {
    const Philox4 bits = draw_bits(stream_of(config, rows.sites[n]), rows.sites[n].position, 0);
    const std::size_t index = pick(truncated[n].candidates, uniform53(bits[0], bits[1]));
    const bool is_known = !truncated[n].log_probs.empty();
    tokens.push_back({truncated[n].candidates[index].id,
                      is_known ? truncated[n].log_probs[index] : 0.0F, truncated[n].divergence});
    is_scored = is_scored && is_known;
  }
  if (!is_scored) score(rows, tokens);
  return tokens;
}

/// Returns the number of this rank's first vocabulary block, which draw_bits() takes as `block`.
/// The blocks of two ranks never have the same number.
std::uint32_t first_block(const LanguageModel& model) {
  if (!model.shard().is_tensor_parallel) return 0;
  return static_cast<std::uint32_t>(model.shard().vocab.begin / kVocabularyBlock +
                                    model.peers()->rank());
}

/// Returns the number of vocabulary blocks for which Sampler::uniforms() returns random numbers.
/// With top k, this is 0 if k is 1 (a greedy draw), and otherwise 1. Without top k, it is the
/// number of this rank's blocks.
std::int64_t blocks_of(const LanguageModel& model, const SamplingConfig& config) {
  if (config.top_k > 0) return config.top_k == 1 ? 0 : 1;
  return (model.shard().vocab.size() + kVocabularyBlock - 1) / kVocabularyBlock;
}

/// Returns a random number in [0, 1) for each row, [N]. With tensor parallelism, this number
/// selects the rank whose draw is used.
at::Tensor last_uniforms(const SampledRows& rows, const SamplingConfig& config) {
  std::vector<double> uniforms;
  for (const DrawSite& site : rows.sites) {
    const Philox4 bits = draw_bits(stream_of(config, site), site.position, kDrawBlocks);
    uniforms.push_back(uniform53(bits[0], bits[1]));
  }
  return at::tensor(uniforms, at::kDouble);
}

/// Returns `log_sums`, [N], except for rows whose logits a processor has made invalid. In such a
/// row, the logsumexp of `processed` is not finite. The function returns this logsumexp for the
/// row, so that check_sums() or DecodeSession::read() rejects the row later.
at::Tensor checked(const at::Tensor& log_sums, const SampledRows& rows, OnlineLogits& processed) {
  if (rows.processors.is_empty()) return log_sums;
  processed.combine(rows.model, {});
  const at::Tensor sums = processed.log_sums();
  return at::where(at::isfinite(sums), log_sums, sums);
}

/// Splits a piece into vocabulary blocks of kVocabularyBlock tokens, which have separate random
/// numbers, and calls visit(block) for each block.
template <class Visit>
void for_each_block(const LogitsPiece& piece, Visit visit) {
  for (std::int64_t first = 0; first < piece.logits.size(1); first += kVocabularyBlock) {
    const std::int64_t count = std::min(kVocabularyBlock, piece.logits.size(1) - first);
    visit(LogitsPiece{piece.logits.narrow(1, first, count).contiguous(), piece.row,
                      piece.first_id + first});
  }
}

/// Returns the KL divergence due to the offsets (DrawnToken::divergence) of all rows, [N] float64
/// on the device; zeros without a candidate processor.
at::Tensor divergences_of(const SampledRows& rows, OffsetDivergence& divergence) {
  const at::Tensor found = divergence.result();
  return found.defined()
             ? found
             : at::zeros({rows.hidden.size(0)}, rows.hidden.options().dtype(at::kDouble));
}

/// Returns one token per row, drawn without top k and top p in one pass over the vocabulary.
DrawnRows draw_from_all(const SampledRows& rows, const SamplingConfig& config,
                        const at::Tensor& uniforms) {
  OnlineDraw drawn(rows.hidden.size(0), rows.hidden.device());
  OnlineLogits folded(rows.hidden.size(0), 0, rows.hidden.options());
  OnlineLogits processed(rows.hidden.size(0), 0, rows.hidden.options());
  OffsetDivergence divergence(rows, config);
  const std::int64_t first_id = rows.model.shard().vocab.begin;
  for_each_piece(rows.model, rows.hidden, [&](const LogitsPiece& whole) {
    folded.fold(whole, {});
    divergence.fold(whole);
    for_each_block(whole, [&](const LogitsPiece& raw) {
      const LogitsPiece piece = changed(raw, rows, config);
      if (!rows.processors.is_empty()) processed.fold(piece, {});
      const std::int64_t block = (raw.first_id - first_id) / kVocabularyBlock;
      drawn.fold(raw, piece.logits / config.temperature,
                 uniforms[block].narrow(0, raw.row, raw.logits.size(0)));
    });
  });
  folded.combine(rows.model, {});
  if (rows.model.shard().is_tensor_parallel) drawn.combine(rows.model, last_uniforms(rows, config));
  const at::Tensor log_sums = folded.log_sums();
  return {drawn.ids.clamp_min(0), drawn.picked - log_sums, checked(log_sums, rows, processed),
          divergences_of(rows, divergence)};
}

/// Returns the most probable token of each row, after penalty and processors.
DrawnRows draw_best(const SampledRows& rows, const SamplingConfig& config) {
  OnlineLogits folded(rows.hidden.size(0), 1, rows.hidden.options());
  OffsetDivergence divergence(rows, config);
  for_each_piece(rows.model, rows.hidden, [&](const LogitsPiece& raw) {
    divergence.fold(raw);
    folded.fold(changed(raw, rows, config), {});
  });
  const at::Tensor divergences = divergences_of(rows, divergence);
  const at::Tensor log_sums = folded.log_sums();
  const at::Tensor ids = folded.best_ids.select(1, 0).clamp_min(0);
  if (!changes_logits(rows, config))
    return {ids, folded.best_logits.select(1, 0) - log_sums, log_sums, divergences};
  return {ids, apply_head(rows.model, rows.hidden, ids, 0).log_probs, log_sums, divergences};
}

/// Returns the drawn tokens on the host, after a single host read. Errors: those of check_sums().
std::vector<DrawnToken> on_host(const SampledRows& rows, const DrawnRows& drawn) {
  const auto exact = [](const at::Tensor& column) { return column.to(at::kDouble); };
  const at::Tensor all =
      tensor::read_back(at::stack({exact(drawn.ids), exact(drawn.log_probs), exact(drawn.log_sums),
                                   drawn.divergences}));  // [4, N]
  check_sums(rows, all[2].to(at::kFloat));
  const auto values = all.accessor<double, 2>();
  std::vector<DrawnToken> tokens;
  for (std::int64_t n = 0; n < all.size(1); ++n)
    tokens.push_back(
        {static_cast<std::int64_t>(values[0][n]), static_cast<float>(values[1][n]), values[3][n]});
  return tokens;
}

}  // namespace

std::int64_t logit_copies(const SamplingConfig& config) {
  const bool needs_total = !config.is_greedy && config.top_k == 0 && config.top_p < 1.0;
  return needs_total && config.repetition_penalty != 1.0 ? 3 : 2;
}

Sampler::Sampler(const SamplingConfig& config) : config_(config) {
  if (!(config.temperature > 0.0)) throw Error("Sampler: temperature is not above 0");
  if (!(config.top_p > 0.0 && config.top_p <= 1.0)) throw Error("Sampler: top_p is not in (0, 1]");
  if (config.top_k < 0) throw Error("Sampler: top_k is negative");
  if (!(config.repetition_penalty > 0.0)) throw Error("Sampler: repetition_penalty is not above 0");
  if (!config_.is_greedy) return;
  config_.temperature = 1.0;
  config_.top_k = 1;
  config_.top_p = 1.0;
}

std::vector<DrawnToken> Sampler::draw(const LanguageModel& model, const at::Tensor& hidden,
                                      std::span<const DrawSite> sites) const {
  return draw(model, hidden, sites, {});
}

std::vector<DrawnToken> Sampler::draw(const LanguageModel& model, const at::Tensor& hidden,
                                      std::span<const DrawSite> sites,
                                      const LogitProcessors& processors) const {
  const at::NoGradGuard no_grad;
  const SampledRows rows = rows_to_sample(model, hidden, sites, processors, config_);
  const bool is_best = config_.top_k == 1 && !model.shard().is_tensor_parallel;
  const bool cuts = config_.top_k > 0 || config_.top_p < 1.0;
  const bool on_device = tensor::runs_on_gpu(hidden) && can_draw_rows(model);
  if (cuts && !is_best && !on_device) return draw_truncated(rows, config_);
  return on_host(rows, rows_in_tensors(rows, uniforms(model, sites, 1, hidden.device())[0]));
}

bool Sampler::can_draw_rows(const LanguageModel& model) const {
  if (model.shard().is_tensor_parallel || config_.repetition_penalty != 1.0) return false;
  if (config_.top_k == 0) return config_.top_p == 1.0;
  return std::min(config_.top_k, model.config().vocab) <=
         static_cast<std::int64_t>(kernels::kMaxBest);
}

at::Tensor Sampler::uniforms(const LanguageModel& model, std::span<const DrawSite> sites,
                             std::int64_t steps, const at::Device& device) const {
  const std::int64_t blocks = blocks_of(model, config_);
  at::Tensor uniforms =
      at::empty({steps, blocks, static_cast<std::int64_t>(sites.size()), 2}, at::kDouble);
  double* next = uniforms.mutable_data_ptr<double>();
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::int64_t b = 0; b < blocks; ++b) {
      for (const DrawSite& site : sites) {
        const Philox4 bits =
            draw_bits(stream_of(config_, site), site.position + static_cast<std::uint32_t>(step),
                      first_block(model) + static_cast<std::uint32_t>(b));
        *next++ = uniform53(bits[0], bits[1]);
        *next++ = uniform53(bits[2], bits[3]);
      }
    }
  }
  return uniforms.to(device);
}

DrawnRows Sampler::draw_rows(const LanguageModel& model, const at::Tensor& hidden,
                             std::span<const DrawSite> sites, const LogitProcessors& processors,
                             const at::Tensor& uniforms) const {
  const at::NoGradGuard no_grad;
  if (!can_draw_rows(model)) throw Error("Sampler: draws that need the host");
  return rows_in_tensors(rows_to_sample(model, hidden, sites, processors, config_), uniforms);
}

DrawnRows Sampler::rows_in_tensors(const SampledRows& rows, const at::Tensor& uniforms) const {
  if (config_.top_k == 1) return draw_best(rows, config_);
  if (config_.top_k == 0) return draw_from_all(rows, config_, uniforms);
  return draw_from_best(rows, config_, uniforms[0].select(1, 0));
}

}  // namespace mgpu::lm
