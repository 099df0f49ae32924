#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/formats/line_problems.hpp>
#include <mgpu/lm/parallel/memory_plan.hpp>
#include <mgpu/rows/model_rows.hpp>
#include <mgpu/rows/prompt_encoder.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

/// What job generate works on, but for the weights.
struct GenerateInputs : rows::ModelRows {
  GenerateKeys keys{};
  GenerateConfig config{};
  std::uint32_t phase = 0;  // in the journal: of these prompts and this model

  std::int64_t prompts() const { return rows.rows(); }
  std::int64_t samples() const { return prompts() * config.num_samples; }
  rows::PromptEncoder encoder() const;

  /// `count` prompts from `first` on; what is wrong with a row stays with it, and goes to
  /// `problems` where data.on_bad_row is stop.
  std::vector<rows::EncodedPrompt> encode(std::int64_t first, std::int64_t count,
                                          rows::PromptEncoder& encoder,
                                          formats::LineProblems& problems) const;

  /// The demand of chunks of so many prompts, the longest of which has so many tokens. A batch is
  /// never larger than the completions of a chunk; generate.batch_size=auto asks for all of them.
  lm::MemoryDemand demand(std::int64_t chunk_rows, std::int64_t longest_prompt) const;
};

/// Errors: those of open_rows(), of fill_in() and of the model's folder; the same on
///         all ranks.
///
/// Ranks:  collective.
GenerateInputs read_generate_inputs(const cluster::Group& world, const Config& config,
                                    const GenerateKeys& keys, lm::ResidentModels* models = nullptr);

/// The same for one rank, for --check and --plan.
GenerateInputs read_generate_inputs(const Config& config, const GenerateKeys& keys);

/// Rows of data.path; 0 where it cannot be read as it should: who opens it for work says why.
std::int64_t count_prompts(const GenerateKeys& keys);

/// Tokens of all prompts, 0 for one that cannot be used.
/// Errors: E531 for those where data.on_bad_row is stop.
std::vector<std::int64_t> count_tokens(const GenerateInputs& inputs);

}  // namespace mgpu::jobs
