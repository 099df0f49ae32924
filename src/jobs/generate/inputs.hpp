#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/formats/line_problems.hpp>
#include <mgpu/lm/parallel/memory_plan.hpp>
#include <mgpu/rows/model_rows.hpp>
#include <mgpu/rows/prompt_encoder.hpp>
#include <mgpu/run/model_memory.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

inline constexpr run::BatchNames kCompletions{"generate.batch_size", "completion", "completions",
                                              "generate.max_new_tokens"};

/// The inputs of job generate, without the weights.
struct GenerateInputs : rows::ModelRows {
  GenerateKeys keys{};
  GenerateConfig config{};
  std::uint32_t phase = 0;  // phase id in the journal, a checksum of prompts and model

  std::int64_t prompts() const { return rows.rows(); }
  std::int64_t samples() const { return prompts() * config.num_samples; }
  rows::PromptEncoder encoder() const;

  /// Returns whether the prompts come from a data set that scores the completions.
  bool has_scores() const {
    return keys.rows.dataset && keys.rows.dataset->dataset->has_check() && keys.max_new_tokens > 0;
  }

  /// Encodes `count` prompts, beginning with row `first`. An unusable row is returned with the
  /// reason. With data.on_bad_row=stop the reason is also added to `problems`.
  std::vector<rows::EncodedPrompt> encode(std::int64_t first, std::int64_t count,
                                          rows::PromptEncoder& encoder,
                                          formats::LineProblems& problems) const;

  /// Returns the memory demand of chunks of `chunk_rows` prompts, if the longest prompt has
  /// `longest_prompt` tokens. A batch is never larger than the completions of a chunk. With
  /// generate.batch_size=auto the demand is for all completions of a chunk.
  lm::MemoryDemand demand(std::int64_t chunk_rows, std::int64_t longest_prompt) const;
};

/// Reads rows, the model's configuration and the settings.
/// Errors: those of open_rows(), of fill_in() and of the model's folder; the same on all ranks.
///
/// Ranks:  collective.
GenerateInputs read_generate_inputs(const cluster::Group& world, const Config& config,
                                    const GenerateKeys& keys, lm::ResidentModels* models = nullptr);

/// Reads the same inputs on one rank, for --check and --plan.
GenerateInputs read_generate_inputs(const Config& config, const GenerateKeys& keys);

/// Returns the number of rows of data.path, or 0 if the file is not valid. The run reports the
/// reason when it opens the file.
std::int64_t count_prompts(const GenerateKeys& keys);

/// Returns the number of tokens of each prompt, and 0 for a prompt that cannot be used.
/// Errors: E531 for unusable prompts if data.on_bad_row is stop.
std::vector<std::int64_t> count_tokens(const GenerateInputs& inputs);

}  // namespace mgpu::jobs
