#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/rewards/registry.hpp>
#include <mgpu/rows/prompt_encoder.hpp>
#include <mgpu/store/results/table.hpp>

#include "completions.hpp"
#include "inputs.hpp"
#include "search_scores.hpp"

namespace mgpu::jobs {

/// The reason why a completion ended, in column `finish`. The value `scored` means that the prompt
/// was only scored, and `none` that the row was left out.
enum class Finish : std::uint8_t { stop_token, stop_string, length, context, scored, none };
const char* name_of(Finish finish);

/// Describes table `samples` of results.h5 of job generate. Each prompt has
/// GenerateConfig::num_samples rows, one per completion, in the order of the input. A prompt
/// without completions has the same number of rows.
store::TableSpec completion_table(const GenerateInputs& inputs);

/// The reward functions and the search scorer that judge the completions of a chunk.
struct RowJudges {
  rewards::WeightedRewards* rewards = nullptr;  // from reward.functions; nullptr: none
  CompletionScorer* scorer = nullptr;           // from generate.search; nullptr: none
};

/// Encodes the rows of `prompts` for the journal. prompts[0] is prompt `first` of the input.
/// `encoder` decodes the completions. `judges` gives rewards and search scores.
/// Errors: those of rewards::WeightedRewards::score() and CompletionScorer::score().
std::vector<std::byte> completion_rows(const GenerateInputs& inputs, std::int64_t first,
                                       std::span<const rows::EncodedPrompt> prompts,
                                       std::span<const CompletedPrompt> completed,
                                       const rows::PromptEncoder& encoder,
                                       const RowJudges& judges = {});

}  // namespace mgpu::jobs
