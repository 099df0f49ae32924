#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/forward/language_model.hpp>

// Shapes in this header: N rows of hidden states, D width.
namespace mgpu::lm {

/// How logits become a token, in this order: repetition penalty, temperature, top k, top p.
struct SamplingConfig {
  bool is_greedy = true;            // most probable token, of equal ones the lowest id
  double temperature = 1.0;         // > 0; divides logits; unused when greedy
  std::int64_t top_k = 0;           // 0: all; unused when greedy
  double top_p = 1.0;               // in (0, 1]; unused when greedy
  double repetition_penalty = 1.0;  // > 0; divides positive logits of tokens that were there
  std::uint64_t seed = 0;
  std::uint32_t round = 0;  // < 2^24
};

/// One token to be drawn. Its random numbers follow from seed, round, sample and position.
struct DrawSite {
  std::uint64_t sample = 0;
  std::uint32_t position = 0;             // < 2^24: how many were drawn for the sample before
  std::span<const std::int64_t> context;  // for the penalty; -1: the host does not know the token
  std::int64_t sequence = -1;             // of a DecodeSession
};

struct DrawnToken {
  std::int64_t id = 0;
  float log_prob = 0.0F;  // nats, under the model itself: no penalty, temperature or cut
};

/// Tokens that were drawn and may not have come to the host.
struct DrawnRows {
  at::Tensor ids;        // [N] int64, in the vocabulary even where logits are not finite
  at::Tensor log_probs;  // [N] float32
  at::Tensor log_sums;   // [N] float32; not finite where logits are not
};

struct LogitProcessors;
struct SampledRows;

/// Draws tokens from the hidden states that predict them. A row's token depends on that row and
/// its site only.
class Sampler {
public:
  /// Errors: Error when a value is out of its range.
  explicit Sampler(const SamplingConfig& config);

  /// Goes over the vocabulary in blocks. Rows whose nucleus (top_p) has more than 1024 tokens, or
  /// a top_k above that, come one by one: the logits of one token at a time.
  ///
  /// Shapes: hidden [N, D], one site per row
  /// Errors: Failure E704 when logits are not finite; ShapeError when sites are not as many.
  std::vector<DrawnToken> draw(const LanguageModel& model, const at::Tensor& hidden,
                               std::span<const DrawSite> sites) const;

  /// The same after processors have changed the logits, as logit_processors.hpp describes them.
  /// Errors: also ShapeError for offsets of another shape; Failure E704 for logits that are not
  ///         finite after them, but for -infinity.
  std::vector<DrawnToken> draw(const LanguageModel& model, const at::Tensor& hidden,
                               std::span<const DrawSite> sites,
                               const LogitProcessors& processors) const;

  /// Whether draw_rows() can draw as the config says: the best token, or any by its probability,
  /// without a repetition penalty and where the vocabulary is not shared out.
  bool can_draw_rows(const LanguageModel& model) const;

  /// What draw() draws, without a host read of its own.
  DrawnRows draw_rows(const LanguageModel& model, const at::Tensor& hidden,
                      std::span<const DrawSite> sites, const LogitProcessors& processors) const;

private:
  DrawnRows rows_in_tensors(const SampledRows& rows) const;

  SamplingConfig config_;
};

}  // namespace mgpu::lm
