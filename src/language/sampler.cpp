#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/language/sampler.hpp>

#include "cut_rows.hpp"
#include "cut_tail.hpp"
#include "stream_draw.hpp"

namespace mgpu::language {
namespace {

/// Fills in the log-probabilities of tokens under the model.
void score(const SampledRows& rows, std::vector<DrawnToken>& tokens) {
  std::vector<std::int64_t> ids;
  for (const DrawnToken& token : tokens)
    ids.push_back(token.id);
  const at::Tensor targets =
      at::tensor(ids, at::TensorOptions().dtype(at::kLong)).to(rows.hidden.device());
  const at::Tensor log_probs = apply_head(rows.model, rows.hidden, targets, 0).log_probs.cpu();
  for (std::size_t n = 0; n < tokens.size(); ++n)
    tokens[n].log_prob = log_probs.const_data_ptr<float>()[n];
}

RandomStream stream_of(const SamplingConfig& config, const DrawSite& site) {
  return {config.seed, Purpose::sampling, config.round, site.sample};
}

std::vector<DrawnToken> draw_from_cut(const SampledRows& rows, const SamplingConfig& config) {
  const std::vector<CutRow> cut = cut_rows(rows, config);
  std::vector<DrawnToken> tokens;
  bool is_scored = true;
  for (std::size_t n = 0; n < cut.size(); ++n) {
    const Philox4 words = draw_words(stream_of(config, rows.sites[n]), rows.sites[n].position, 0);
    const std::size_t index = pick(cut[n].candidates, uniform53(words[0], words[1]));
    const bool is_known = !cut[n].log_probs.empty();
    tokens.push_back({cut[n].candidates[index].id, is_known ? cut[n].log_probs[index] : 0.0F});
    is_scored = is_scored && is_known;
  }
  if (!is_scored) score(rows, tokens);
  return tokens;
}

/// Without cuts: one pass, nothing kept.
std::vector<DrawnToken> draw_from_all(const SampledRows& rows, const SamplingConfig& config) {
  std::vector<StreamDraw> draws;
  for (const DrawSite& site : rows.sites)
    draws.emplace_back(stream_of(config, site), site.position);
  std::vector<DrawnToken> tokens(rows.sites.size());
  FoldedLogits folded(rows.hidden.size(0), 0, rows.hidden.options());
  for_each_piece(rows.model, rows.hidden, [&](const LogitsPiece& raw) {
    folded.fold(raw, {});
    const at::Tensor plain = raw.logits.cpu();
    const at::Tensor scores =
        with_penalty(raw, rows, config).logits.cpu() / config.temperature;  // [n, B]
    const auto count = static_cast<std::size_t>(plain.size(1));
    for (std::size_t i = 0; i < static_cast<std::size_t>(plain.size(0)); ++i) {
      const std::size_t n = static_cast<std::size_t>(raw.row) + i;
      const std::span<const float> line(scores.const_data_ptr<float>() + i * count, count);
      if (!draws[n].add(line, raw.first_id)) continue;
      const auto place = static_cast<std::size_t>(draws[n].id() - raw.first_id);
      tokens[n] = {draws[n].id(), plain.const_data_ptr<float>()[i * count + place]};
    }
  });
  const at::Tensor log_sums = folded.log_sums().cpu();
  check_sums(rows, log_sums);
  for (std::size_t n = 0; n < tokens.size(); ++n)
    tokens[n].log_prob -= log_sums.const_data_ptr<float>()[n];
  return tokens;
}

void check_rows(const SampledRows& rows) {
  if (static_cast<std::size_t>(rows.hidden.size(0)) != rows.sites.size())
    throw ShapeError("Sampler: not one site per hidden state");
}

}  // namespace

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
  const at::NoGradGuard no_grad;
  const SampledRows rows{model, hidden, sites};
  check_rows(rows);
  const bool cuts = config_.top_k > 0 || config_.top_p < 1.0;
  return cuts ? draw_from_cut(rows, config_) : draw_from_all(rows, config_);
}

std::vector<std::vector<Candidate>> Sampler::distributions(const LanguageModel& model,
                                                           const at::Tensor& hidden,
                                                           std::span<const DrawSite> sites) const {
  const at::NoGradGuard no_grad;
  const SampledRows rows{model, hidden, sites};
  check_rows(rows);
  std::vector<std::vector<Candidate>> result;
  for (CutRow& row : cut_rows(rows, config_))
    result.push_back(std::move(row.candidates));
  return result;
}

}  // namespace mgpu::language
