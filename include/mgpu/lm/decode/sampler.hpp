#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/forward/language_model.hpp>

// Shapes in this header: N rows of hidden states, D width.
namespace mgpu::lm {

/// How a token is drawn from logits: repetition penalty, temperature, top k and top p, in this
/// order.
struct SamplingConfig {
  bool is_greedy = true;            // draws the most probable token; on a tie, the lowest id
  double temperature = 1.0;         // > 0; divides logits; unused when greedy
  std::int64_t top_k = 0;           // draws one of the k most probable tokens; 0: of all tokens;
                                    // unused when greedy
  double top_p = 1.0;               // in (0, 1]; unused when greedy
  double repetition_penalty = 1.0;  // > 0; for tokens in DrawSite::context, divides positive
                                    // logits and multiplies negative ones
  std::uint64_t seed = 0;
  std::uint32_t round = 0;  // < 2^24; each round has different random numbers
};

/// Returns how many copies of a block of logits are in memory at once during a draw without logit
/// processors. The result is 3 for sampling with a repetition penalty and top_p, but without top_k.
/// Otherwise the result is 2.
std::int64_t logit_copies(const SamplingConfig& config);

/// Identifies a draw by its sample and its position in the sample. The random numbers of the draw
/// depend only on sample, position, SamplingConfig::seed and SamplingConfig::round.
struct DrawSite {
  std::uint64_t sample = 0;
  std::uint32_t position = 0;             // < 2^24: number of earlier draws with this sample
  std::span<const std::int64_t> context;  // ids for the repetition penalty; -1: an unknown id
  std::int64_t sequence = -1;             // number of the sequence in the DecodeSession; -1: none
};

struct DrawnToken {
  std::int64_t id = 0;
  float log_prob = 0.0F;  // nats, from the unchanged logits of the model

  /// KL(p || q) in nats, at the temperature of the draw, or at temperature 1 when greedy. Here p is
  /// the distribution with the offsets of the candidate processor, and q is the one without them.
  /// Neither includes the repetition penalty, block processors, top k or top p. The value is 0
  /// without a candidate processor.
  double divergence = 0.0;
};

/// Drawn tokens in device memory, which the host may not have read yet.
struct DrawnRows {
  at::Tensor ids;          // [N] int64, valid ids even if logits are not finite
  at::Tensor log_probs;    // [N] float32
  at::Tensor log_sums;     // [N] float32 logsumexp; not finite if a logit is NaN or +inf, or all
                           // logits are -inf
  at::Tensor divergences;  // [N] float64, DrawnToken::divergence
};

struct LogitProcessors;
struct SampledRows;

/// Draws tokens from the hidden states that predict them. With the same model and config, the token
/// of a row depends on the row's hidden state and DrawSite only.
class Sampler {
public:
  /// Checks and keeps the settings. Errors: Error when a value is out of range.
  explicit Sampler(const SamplingConfig& config);

  /// Draws one token per row. The vocabulary is processed in blocks. Rows whose nucleus (top_p) or
  /// top_k exceeds 1024 tokens are processed one at a time, because they need all their logits at
  /// once.
  ///
  /// Shapes: hidden [N, D], one site per row
  /// Ranks:  collective over the ranks of a tensor-parallel model
  /// Errors: Failure E704 when a logit is NaN or +infinity, or all logits of a row are -infinity;
  ///         ShapeError when there is not one site per row.
  std::vector<DrawnToken> draw(const LanguageModel& model, const at::Tensor& hidden,
                               std::span<const DrawSite> sites) const;

  /// Draws one token per row after the processors have changed the logits; see
  /// logit_processors.hpp.
  /// Errors: those of draw() without processors. ShapeError when offsets have another shape than
  ///         the candidates. Failure E704 when a processed logit is neither finite nor -infinity.
  std::vector<DrawnToken> draw(const LanguageModel& model, const at::Tensor& hidden,
                               std::span<const DrawSite> sites,
                               const LogitProcessors& processors) const;

  /// Returns whether draw_rows() supports this sampler's config and the model. There are three
  /// conditions:
  /// - The config has no repetition penalty.
  /// - The config is greedy, uses neither top k nor top p, or keeps at most kernels::kMaxBest
  ///   tokens by top k.
  /// - The vocabulary is not split over ranks.
  bool can_draw_rows(const LanguageModel& model) const;

  /// Returns the random numbers of the next `steps` draws of each site, which draw_rows() takes one
  /// step at a time. They are sent to `device` together, because the host waits for all work of a
  /// GPU at each such copy.
  ///
  /// Without top k, a draw uses two numbers for each vocabulary block of this rank. The first
  /// number decides whether a token of the block replaces the token drawn from the previous blocks.
  /// The second number selects the token in the block. With top k, the result has one block, whose
  /// first number selects the token.
  ///
  /// Shapes: the result is [steps, blocks, N, 2] float64 in [0, 1); no blocks when greedy or when
  ///         top_k is 1
  at::Tensor uniforms(const LanguageModel& model, std::span<const DrawSite> sites,
                      std::int64_t steps, const at::Device& device) const;

  /// Draws the same tokens as draw(), but leaves them on the device. The host reads nothing back,
  /// unless a logit processor reads tensors. `uniforms` is one step of uniforms() for these sites.
  ///
  /// Shapes: hidden [N, D], one site per row; uniforms [blocks, N, 2] on the device of `hidden`
  /// Errors: Error when can_draw_rows() is false.
  DrawnRows draw_rows(const LanguageModel& model, const at::Tensor& hidden,
                      std::span<const DrawSite> sites, const LogitProcessors& processors,
                      const at::Tensor& uniforms) const;

private:
  DrawnRows rows_in_tensors(const SampledRows& rows, const at::Tensor& uniforms) const;

  SamplingConfig config_;
};

}  // namespace mgpu::lm
