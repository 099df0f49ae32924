#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/lm/decode/token_divergence.hpp>
#include <mgpu/run/row_phase.hpp>

#include "completions.hpp"
#include "inputs.hpp"
#include "table.hpp"

namespace mgpu::jobs {

/// The models and functions that judge completions.
struct CompletionJudges {
  /// The model of generate.reference on the same ranks; nullptr: none.
  const lm::ModelGroup* reference = nullptr;
  /// The offsets that a guide added to logits, if there is also a reference; nullptr otherwise.
  lm::OffsetRecord* offsets = nullptr;
  /// The rewards of reward.functions; nullptr without rewards, and on ranks that do not record
  /// results.
  rewards::WeightedRewards* rewards = nullptr;
  /// The scorer of generate.search; nullptr without a search, and on ranks that do not record
  /// results.
  CompletionScorer* scorer = nullptr;
};

/// Completes the prompts of a chunk, with the model of one group of ranks.
class CompletionWorker final : public run::RowWorker<rows::EncodedPrompt, CompletedPrompt> {
public:
  /// Copies `judges`. Keeps references to the other arguments and to the objects that `judges`
  /// points to. These objects must outlive this object.
  CompletionWorker(const GenerateInputs& inputs, rows::PromptEncoder& encoder,
                   const lm::ModelGroup& group, const CompletionJudges& judges,
                   ScalarSink& scalars);

  std::vector<rows::EncodedPrompt> encode(std::int64_t first, std::int64_t count) override;
  std::vector<CompletedPrompt> work(std::span<const rows::EncodedPrompt> prompts,
                                    std::int64_t first) override;
  std::pair<rows::EncodedPrompt, CompletedPrompt> left_out(const std::string& reason) override;
  run::RowTokens tokens(const rows::EncodedPrompt& prompt,
                        const CompletedPrompt& completed) const override;
  bool records() const override { return group_.is_leader(); }
  std::vector<std::byte> pack(std::int64_t first, std::span<const rows::EncodedPrompt> prompts,
                              std::span<const CompletedPrompt> completed) override;
  std::int64_t batch_size() const override { return completer_.batch_size(); }
  void set_batch_size(std::int64_t batch_size) override;
  void set_progress(const std::function<void(std::int64_t)>& see) override {
    completer_.set_progress(see);
  }
  void write_scalars(const run::GroupWork& work) override;

private:
  void compare(std::span<const rows::EncodedPrompt> prompts, std::int64_t first,
               std::vector<CompletedPrompt>& completed);

  const GenerateInputs& inputs_;
  rows::PromptEncoder& encoder_;
  const lm::ModelGroup& group_;
  ScalarSink& scalars_;
  Completer completer_;
  std::optional<lm::SequenceDivergence> divergence_;  // from generate.reference
  lm::OffsetRecord* offsets_;                         // CompletionJudges::offsets
  RowJudges judges_;                                  // give rewards and search scores to rows
};

}  // namespace mgpu::jobs
