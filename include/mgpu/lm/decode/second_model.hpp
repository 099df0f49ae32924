#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/decode/logit_processors.hpp>
#include <mgpu/lm/forward/language_model.hpp>

// Shapes in this header: N drawing sequences, K candidates, D width of the second model.
namespace mgpu::lm {

/// A candidate processor that asks a second model with the same vocabulary. The second model's
/// session follows the sequences of the first session when offsets() calls states() or
/// states_after(). Embeddings go to both models, whose widths are equal then.
class SecondModelProcessor : public CandidateProcessor {
public:
  /// The model outlives the processor. `sizes` has pages for all sequences and for N * K forks,
  /// each of which takes one or two; its page_tokens divides that of the first session's pool.
  SecondModelProcessor(const LanguageModel& model, const PagedCache::Sizes& sizes,
                       std::int64_t prefill_tokens = 0);

  void added(std::int64_t sequence) final;
  void forked(std::int64_t origin, std::int64_t copy, std::int64_t tokens) final;
  void given(std::int64_t sequence, const GivenTokens& tokens) final;
  void drawn(std::span<const DrawSite> rows, const at::Tensor& ids) final;
  void dropped(std::int64_t sequence) final;
  void reset() final;

protected:
  const LanguageModel& model() const { return *model_; }

  /// The second model's states of the newest tokens, [N, D].
  at::Tensor states(std::span<const DrawSite> rows);

  /// Its states after each candidate, [N, K, D]: K forks of each sequence take one token each, all
  /// in one pass, and are dropped.
  ///
  /// Shapes: rows N; ids [N, K] int64
  /// Errors: as DecodeSession::pass; Error where page_tokens do not fit.
  at::Tensor states_after(std::span<const DrawSite> rows, const at::Tensor& ids);

private:
  void catch_up();
  void run_passes();
  void follow_fork(std::int64_t origin, std::int64_t copy, std::int64_t tokens);
  std::int64_t mine(std::int64_t sequence) const { return mine_.at(sequence); }

  const LanguageModel* model_;
  PagedCache::Sizes sizes_;
  std::int64_t prefill_tokens_;
  std::optional<DecodePool> pool_;             // from the first catch_up() on
  std::optional<DecodeSession> session_;       // likewise
  std::map<std::int64_t, std::int64_t> mine_;  // by sequence of the first session
  std::vector<std::function<void()>> missed_;  // what the first session did since catch_up()
};

}  // namespace mgpu::lm
