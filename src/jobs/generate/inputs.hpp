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
  std::uint32_t phase = 0;  // in the journal: identifies prompts and model

  std::int64_t prompts() const { return rows.rows(); }
  std::int64_t samples() const { return prompts() * config.num_samples; }
  rows::PromptEncoder encoder() const;

  /// Returns whether the prompts come from a data set that judges the completions.
  bool has_scores() const {
    return keys.rows.dataset && keys.rows.dataset->dataset->has_check() && keys.max_new_tokens > 0;
  }

  /// Encodes `count` prompts, beginning with row `first`. An unusable row keeps its reason; with
  /// data.on_bad_row=stop the reason also goes to `problems`.
  std::vector<rows::EncodedPrompt> encode(std::int64_t first, std::int64_t count,
                                          rows::PromptEncoder& encoder,
                                          formats::LineProblems& problems) const;

  /// The memory demand of chunks of `chunk_rows` prompts, the longest of which has `longest_prompt`
  /// tokens. A batch is never larger than the completions of a chunk. With generate.batch_size=auto
  /// the demand is for all completions of a chunk.
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

/// The number of rows of data.path; 0 if the file is not valid. Opening it for a run reports the
/// reason.
std::int64_t count_prompts(const GenerateKeys& keys);

/// The number of tokens of each prompt, 0 for a prompt that cannot be used.
/// Errors: E531 for those if data.on_bad_row is stop.
std::vector<std::int64_t> count_tokens(const GenerateInputs& inputs);

}  // namespace mgpu::jobs
