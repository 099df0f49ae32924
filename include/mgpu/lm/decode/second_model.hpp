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

// Shapes in this header: N rows of a draw, K candidates, D = width of the second model.
namespace mgpu::lm {

/// A candidate processor that uses a second model with the same vocabulary. The second model has
/// its own decode session. A call of states() or states_after() first brings this session up to
/// date with the sequences of the first model's session. Input embeddings go to both models, which
/// then need equal widths.
class SecondModelProcessor : public CandidateProcessor {
public:
  /// `model` is the second model and has to outlive the processor. sizes.pages must suffice for all
  /// sequences and for N * K forks. A fork takes at most one page. sizes.page_tokens must divide
  /// the page_tokens of the first model's pool.
  SecondModelProcessor(const LanguageModel& model, const PagedCache::Sizes& sizes,
                       std::int64_t prefill_tokens = 0);

  /// Takes the sizes of the cache from each call of Generator::run(), see begins(). The cache is
  /// replaced only if a call needs a larger cache, another page size or another type.
  explicit SecondModelProcessor(const LanguageModel& model, std::int64_t prefill_tokens = 0);

  bool allows_shared_prefixes() const final;
  void begins(const PoolDemand& demand) final;
  void added(std::int64_t sequence) final;
  void forked(std::int64_t origin, std::int64_t copy, std::int64_t tokens) final;
  void given(std::int64_t sequence, const GivenTokens& tokens) final;
  void drawn(std::span<const DrawSite> rows, const at::Tensor& ids) final;
  void dropped(std::int64_t sequence) final;
  void reset() final;

protected:
  const LanguageModel& model() const { return *model_; }

  /// Returns the second model's hidden state at the newest token of each row's sequence, [N, D].
  at::Tensor states(std::span<const DrawSite> rows);

  /// Returns the second model's hidden states after each candidate, [N, K, D]. The function forks
  /// each sequence K times, runs one token of each fork in a single pass, and drops the forks.
  ///
  /// Shapes: rows N; ids [N, K] int64
  /// Errors: those of DecodeSession::pass(); Error when page_tokens does not divide that of the
  ///         first model's pool.
  at::Tensor states_after(std::span<const DrawSite> rows, const at::Tensor& ids);

private:
  void catch_up();
  void run_passes();
  void follow_fork(std::int64_t origin, std::int64_t copy, std::int64_t tokens);
  std::int64_t mine(std::int64_t sequence) const { return mine_.at(sequence); }

  const LanguageModel* model_;
  PagedCache::Sizes sizes_;
  bool has_own_sizes_;  // true: sizes_ is an argument of the constructor; false: begins() sets
                        // sizes_
  std::int64_t prefill_tokens_;
  std::optional<DecodePool> pool_;             // made by catch_up() when it is missing
  std::optional<DecodeSession> session_;       // made by catch_up() when it is missing
  std::map<std::int64_t, std::int64_t> mine_;  // the first model's sequence -> the same sequence in
                                               // session_
  std::vector<std::function<void()>> missed_;  // changes of the first model's sequences since the
                                               // last catch_up()
};

}  // namespace mgpu::lm
