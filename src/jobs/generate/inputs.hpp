#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
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

/// The inputs of job generate: rows, settings, and the model's configuration without its weights.
struct GenerateInputs : rows::ModelRows {
  GenerateKeys keys{};
  GenerateConfig config{};
  std::optional<lm::LmConfig> guide{};  // the value model that guides sampling; nullopt: none
  std::uint32_t phase = 0;              // phase id in the journal, a checksum of prompts and models
  bool can_judge_messages = true;  // false: a reward model lacks the chat template for messages

  std::int64_t prompts() const { return rows.rows(); }
  std::int64_t samples() const { return prompts() * config.num_samples; }
  rows::PromptEncoder encoder() const;

  /// Returns whether the prompts come from a data set that also scores completions, and completions
  /// are requested.
  bool has_scores() const {
    return keys.rows.dataset && keys.rows.dataset->dataset->has_check() && keys.max_new_tokens > 0;
  }

  /// Returns whether completions are checked for a right answer: by the data set of the prompts, or
  /// by reward `match`.
  bool checks_answers() const {
    const std::vector<std::string>& rewards = keys.rewards.names;
    const bool has_match = std::ranges::find(rewards, "match") != rewards.end();
    return has_scores() || (keys.max_new_tokens > 0 && has_match);
  }

  /// Returns whether the answers of completions are recorded. This is so if answers are checked, or
  /// if answers vote (generate.search=weighted_vote).
  bool has_answers() const {
    return checks_answers() || (keys.search && keys.search->kind == SearchKind::weighted_vote);
  }

  /// Encodes `count` prompts from row `first` on. If a row cannot be used, member `facts` of its
  /// prompt contains the reason. With data.on_bad_row=stop the reason is also added to `problems`.
  /// The key generate.beyond_context decides what happens to prompts that are longer than the
  /// model's context.
  std::vector<rows::EncodedPrompt> encode(std::int64_t first, std::int64_t count,
                                          rows::PromptEncoder& encoder,
                                          formats::LineProblems& problems) const;

  run::RowCounts counts() const { return {keys.run.chunk_size, prompts(), config.num_samples}; }

  /// Returns the sizes that determine the memory of the model on `device`, if the longest prompt
  /// has `longest_prompt` tokens. With generate.batch_size=auto, the batch size is the largest
  /// possible one.
  lm::MemoryDemand demand(DeviceKind device, std::int64_t longest_prompt) const;
};

/// Reads the rows, the model's configuration and the settings. Every rank gets the same inputs.
///
/// Ranks:  collective over `world`.
/// Errors: those of open_rows() and of reading the folders of the models. If one rank fails, all
///         ranks throw.
GenerateInputs read_generate_inputs(const cluster::Group& world, const Config& config,
                                    const GenerateKeys& keys, lm::ResidentModels* models = nullptr);

/// Reads the rows, the model's configuration and the settings on this rank alone, for --check and
/// --plan.
/// Errors: those of open_rows() and of reading the folders of the models.
GenerateInputs read_generate_inputs(const Config& config, const GenerateKeys& keys);

/// Returns a note that suggests reward `match`. Returns "" unless completions are requested, the
/// first row has an `answer`, and the run has neither rewards nor a data set.
std::string answer_note(const GenerateInputs& inputs);

/// Returns the number of rows of the data, or 0 if the data cannot be read. The run reports the
/// reason when it opens the data.
std::int64_t count_prompts(const GenerateKeys& keys);

/// Tokenizes all prompts and returns the number of tokens of each. The number is 0 for a row that
/// cannot be encoded, and for a prompt that generate.beyond_context=mark leaves out.
/// Errors: Failure E531 for prompts that cannot be used if data.on_bad_row is stop, and for prompts
///         beyond the model's context if generate.beyond_context is stop.
std::vector<std::int64_t> count_tokens(const GenerateInputs& inputs);

}  // namespace mgpu::jobs
