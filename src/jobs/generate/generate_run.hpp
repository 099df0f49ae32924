#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/rows/reward_model.hpp>
#include <mgpu/run/row_phase.hpp>

#include "inputs.hpp"
#include "other_models.hpp"
#include "work.hpp"

namespace mgpu::jobs {

/// One attempt of job generate. It holds the inputs on every rank, the models of this rank's group,
/// and the loop over the prompts. Public functions that are not const are collective over the
/// world.
class GenerateRun {
public:
  /// Reads the inputs and opens all models. Errors: those of read_generate_inputs() and of the
  /// models.
  GenerateRun(run::RunContext& run, const GenerateKeys& keys);

  const GenerateInputs& inputs() const { return inputs_; }
  const run::RowPhase& phase() const { return phase_; }

  /// Tokenizes all prompts that have no result from an earlier attempt. Then sets the batch size,
  /// which depends on the longest prompt.
  void tokenize();

  /// Returns a text about the memory of weights and cache, for the banner. Call tokenize() first.
  std::string memory_text() const;

  /// Completes all prompts. Returns false if a stop was requested before all were completed.
  bool generate() { return phase_.run(*worker_); }

private:
  lm::ResidentModels* judging_models();
  void open_rewards();
  void open_search();
  void open_guide(const GuideKeys& keys);
  std::int64_t other_bytes(const lm::MemoryDemand& demand);
  bool records_offsets() const { return guide_ && reference_; }
  std::int64_t longest_prompt(std::int64_t first, std::int64_t count,
                              formats::LineProblems& problems);
  void warn_of_long_prompts(std::int64_t count);
  void choose_batch(std::int64_t longest);

  run::RunContext& run_;
  const cluster::Group& world_;
  GenerateInputs inputs_;
  run::RowPhase phase_;
  std::optional<rows::PromptEncoder> encoder_;
  std::unique_ptr<lm::ResidentModels> own_models_;   // shares weights among ranks of a node
  std::optional<rewards::WeightedRewards> rewards_;  // from reward.functions; only on leaders
  std::unique_ptr<CompletionScorer> scorer_;         // from generate.search; only on leaders
  std::optional<lm::ModelGroup> reference_;          // model of generate.reference
  std::optional<lm::ValueModel> values_;             // model of generate.guide.path
  lm::OffsetRecord offsets_;  // what the guide added to logits, for the tokens of a chunk
  std::optional<lm::ValueGuide> guide_;  // uses values_ and offsets_
  std::optional<CompletionWorker> worker_;
  lm::MemoryDemand demand_;
  std::int64_t beyond_context_ = 0;  // prompts of this rank that are longer than the context
};

}  // namespace mgpu::jobs
