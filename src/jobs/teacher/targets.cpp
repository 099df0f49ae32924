#include "targets.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <ATen/core/Tensor.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/tensor.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/random_streams.hpp>
#include <mgpu/tensor/read_back.hpp>

namespace mgpu::jobs {
namespace {

using lm::PromptPiece;

constexpr Purpose kTargetDraws{7};  // tokens from the teacher's distribution; one stream per sample

lm::GenerationConfig scoring_config(std::int64_t batch_size) {
  lm::GenerationConfig config;
  config.max_new_tokens = 0;
  config.batch_size = batch_size;
  return config;
}

/// Throws Failure E704 if the log-sum-exp of a token's logits is not finite. The failure names the
/// first such token.
void check_finite(std::span<const PromptPiece> pieces, std::span<const std::uint64_t> samples,
                  const at::Tensor& log_sums) {
  if (tensor::read_value<bool>(at::isfinite(log_sums).all())) return;
  const at::Tensor host = tensor::read_back(log_sums);
  const float* sum = host.const_data_ptr<float>();
  for (const PromptPiece& piece : pieces) {
    const float* end = sum + piece.count;
    const float* bad = std::find_if(sum, end, [](float value) { return !std::isfinite(value); });
    if (bad != end) {
      const std::size_t token = piece.first + static_cast<std::size_t>(bad - sum);
      throw Failure({"E704",
                     ExitCode::numeric,
                     "the logits of the model are not finite",
                     {"  sample " + std::to_string(samples[piece.prompt]) + ", token " +
                      std::to_string(token)},
                     ""});
    }
    sum = end;
  }
}

/// Fills `uniforms` with the random numbers for the draws at one token, ascending. These numbers
/// depend only on the seed, the sample, and the index of the token.
void fill_uniforms(const RandomStream& stream, std::size_t token, std::span<double> uniforms) {
  constexpr std::size_t kBlocksOfToken = 128;  // two draws per block; at most 255 draws
  for (std::size_t m = 0; m < uniforms.size(); ++m) {
    const Philox4 words = stream.block(static_cast<std::uint32_t>(token * kBlocksOfToken + m / 2));
    uniforms[m] = m % 2 == 0 ? uniform53(words[0], words[1]) : uniform53(words[2], words[3]);
  }
  std::sort(uniforms.begin(), uniforms.end());
}

/// Adds the different ids that were sampled at one token, and how often each was sampled, to
/// `targets`. The sampled ids `ascending` are sorted.
void add_counts(std::span<const std::int64_t> ascending, TokenTargets& targets) {
  std::uint8_t different = 0;
  for (auto id = ascending.begin(); id != ascending.end();) {
    const auto next = std::upper_bound(id, ascending.end(), *id);
    targets.drawn_ids.push_back(static_cast<std::uint32_t>(*id));
    targets.drawn_counts.push_back(static_cast<std::uint8_t>(next - id));
    ++different;
    id = next;
  }
  targets.num_drawn.push_back(different);
}

}  // namespace

TeacherModel::TeacherModel(const lm::LanguageModel& model, const TeacherConfig& config,
                           std::int64_t batch_size)
    : model_(model),
      config_(config),
      generator_(model, scoring_config(batch_size), {},
                 [this](std::span<const PromptPiece> pieces, const at::Tensor& hidden) {
                   see(pieces, hidden);
                 }) {}

bool TeacherModel::returns_targets() const {
  return model_.peers() == nullptr || model_.peers()->is_broadcast_root();
}

std::vector<TokenTargets> TeacherModel::run(std::span<const std::vector<std::int64_t>> texts,
                                            std::int64_t first) {
  std::vector<lm::Prompt> prompts;
  std::vector<std::size_t> places;
  samples_.clear();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (texts[i].empty()) continue;
    samples_.push_back(static_cast<std::uint64_t>(first) + i);
    prompts.push_back({samples_.back(), texts[i], 1});
    places.push_back(i);
  }
  targets_.assign(prompts.size(), {});
  generator_.run(prompts);
  std::vector<TokenTargets> all(texts.size());
  for (std::size_t p = 0; p < places.size(); ++p)
    all[places[p]] = std::move(targets_[p]);
  return all;
}

void TeacherModel::see(std::span<const PromptPiece> pieces, const at::Tensor& hidden) {
  // Scaling the hidden states has the same effect as scaling the logits, because no supported head
  // has a bias.
  const at::Tensor rows =
      config_.temperature == 1.0 ? hidden : hidden.mul(1.0 / config_.temperature);
  if (config_.has_draws)
    keep_draws(pieces, rows);
  else
    keep_best(pieces, rows);
}

void TeacherModel::keep_best(std::span<const PromptPiece> pieces, const at::Tensor& hidden) {
  const std::int64_t best = std::min(config_.top_k, model_.config().vocab);
  const lm::HeadResult head = apply_head(model_, hidden, {}, best);
  check_finite(pieces, samples_, head.log_sums);
  if (!returns_targets()) return;
  const at::Tensor log_probs =
      tensor::read_back(head.best_logits.sub(head.log_sums.unsqueeze(1)));  // [tokens, best]
  const at::Tensor tail = log_probs.to(at::kDouble).exp().sum(1).neg().add(1.0).clamp_min(0.0);
  const at::Tensor tails = tail.to(at::kFloat).contiguous();
  const at::Tensor log_sums = tensor::read_back(head.log_sums);
  const at::Tensor ids = tensor::read_back(head.best_ids);
  const float* sum = log_sums.const_data_ptr<float>();
  const float* tail_of_row = tails.const_data_ptr<float>();
  const float* value = log_probs.const_data_ptr<float>();
  const std::int64_t* id = ids.const_data_ptr<std::int64_t>();
  for (const PromptPiece& piece : pieces) {
    TokenTargets& targets = targets_[piece.prompt];
    targets.log_sums.insert(targets.log_sums.end(), sum, sum + piece.count);
    targets.tail_mass.insert(targets.tail_mass.end(), tail_of_row, tail_of_row + piece.count);
    sum += piece.count;
    tail_of_row += piece.count;
    const std::size_t count = piece.count * static_cast<std::size_t>(best);
    for (std::size_t i = 0; i < count; ++i) {
      targets.ids.push_back(static_cast<std::uint32_t>(*id++));
      targets.log_probs.push_back(Half::of(*value++));
    }
  }
}

at::Tensor TeacherModel::uniforms_for(std::span<const PromptPiece> pieces) const {
  const auto draws = static_cast<std::size_t>(config_.num_draws);
  std::vector<double> uniforms;
  for (const PromptPiece& piece : pieces) {
    const RandomStream stream(config_.run.seed, kTargetDraws, 0, samples_[piece.prompt]);
    for (std::size_t token = piece.first; token < piece.first + piece.count; ++token) {
      uniforms.resize(uniforms.size() + draws);
      fill_uniforms(stream, token, std::span(uniforms).last(draws));
    }
  }
  return at::tensor(uniforms, at::kDouble).view({-1, config_.num_draws});
}

void TeacherModel::keep_draws(std::span<const PromptPiece> pieces, const at::Tensor& hidden) {
  const lm::DrawsWithReplacement draws =
      draw_with_replacement(model_, hidden, uniforms_for(pieces));
  check_finite(pieces, samples_, draws.log_sums);
  if (!returns_targets()) return;
  const at::Tensor log_sums = tensor::read_back(draws.log_sums);
  const at::Tensor ids = std::get<0>(tensor::read_back(draws.ids).sort(1)).contiguous();
  const float* sum = log_sums.const_data_ptr<float>();
  const std::int64_t* id = ids.const_data_ptr<std::int64_t>();
  const auto count = static_cast<std::size_t>(config_.num_draws);
  for (const PromptPiece& piece : pieces) {
    TokenTargets& targets = targets_[piece.prompt];
    targets.log_sums.insert(targets.log_sums.end(), sum, sum + piece.count);
    sum += piece.count;
    for (std::size_t token = 0; token < piece.count; ++token, id += count)
      add_counts(std::span(id, count), targets);
  }
}

}  // namespace mgpu::jobs
