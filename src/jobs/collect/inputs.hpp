#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/formats/line_problems.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/parallel/memory_plan.hpp>
#include <mgpu/rows/model_rows.hpp>
#include <mgpu/rows/text_steps.hpp>
#include <mgpu/run/model_memory.hpp>

#include "agents.hpp"
#include "keys.hpp"
#include "question_encoder.hpp"

namespace mgpu::jobs {

inline constexpr run::BatchNames kCollected{"collect.batch_size", "solution", "solutions",
                                            "collect.max_new_tokens",
                                            "collect.num_parent_paths=auto collect.num_paths="};

/// Sizes of a question. All members are 0 if the question cannot be used.
struct QuestionTokens {
  std::int64_t all = 0;      // tokens of the question; with agents, of the prompts of all agents
  std::int64_t longest = 0;  // tokens before the text that the model draws (Question::longest)
  std::int64_t pages = 0;    // result of tree_pages() if agents think in latent steps; else 0
};

/// The inputs of job collect: questions, settings, agents, and the model's configuration without
/// its weights.
struct CollectInputs : rows::ModelRows {
  CollectKeys keys{};
  std::vector<Agent> agents{};        // empty: steps of text
  lm::GenerationConfig generation{};  // how paths and rollouts are drawn
  std::uint32_t phase = 0;  // phase id in the journal, a checksum of rows, model and agents

  std::int64_t questions() const { return rows.rows(); }
  rows::StepRule rule() const { return {keys.step_tokens, keys.max_steps}; }

  /// Returns the index in the data set of the question in row `row` of this run.
  std::int64_t question_of(std::int64_t row) const { return keys.rows.options.start + row; }

  /// Returns how many tokens a question may have before the drawn text (Question::longest). This is
  /// the model's number of positions if the model has learned positions, and otherwise
  /// rows::context_of(). 0 means that there is no limit.
  std::int64_t longest_question() const;

  /// Returns the encoder that turns rows into questions.
  /// Errors: Failure E603 (exit 66) if the model's folder has no tokenizer although steps are lines
  ///         or agents are used; those of rows::parse_tokenizer_files(); with agents, those of
  ///         text::ChatTemplate.
  QuestionEncoder encoder() const;

  /// Encodes `count` questions, beginning with row `first` of the run. If a row cannot be used, or
  /// its question is too long, member `facts` of the question contains the reason. With
  /// data.on_bad_row=stop the reason is also added to `problems`.
  /// Errors: those of rows::PromptEncoder::encode().
  std::vector<Question> encode(std::int64_t first, std::int64_t count, QuestionEncoder& encoder,
                               formats::LineProblems& problems) const;

  run::RowCounts counts() const { return {keys.run.chunk_size, questions(), keys.num_paths}; }

  /// Returns the sizes of a question: its numbers of tokens and cache pages.
  QuestionTokens tokens_of(const Question& question) const;

  /// Returns the sizes that decide how much memory the model needs on `device`, for questions whose
  /// sizes are at most `most`. With collect.batch_size=auto, member batch_size is the largest batch
  /// that a run may choose.
  lm::MemoryDemand demand(DeviceKind device, const QuestionTokens& most) const;
};

/// Reads the rows, the model's configuration, the settings and the agents. Every rank gets the same
/// inputs.
///
/// Ranks:  collective over `world`.
/// Errors: those of open_rows(), of read_agents() and of reading the model's folder. If one rank
///         fails, all ranks throw.
CollectInputs read_collect_inputs(const cluster::Group& world, const Config& config,
                                  const CollectKeys& keys, lm::ResidentModels* models = nullptr);

/// Reads the rows, the model's configuration, the settings and the agents on this rank alone, for
/// --check and --plan.
/// Errors: those of open_rows(), of read_agents() and of reading the model's folder.
CollectInputs read_collect_inputs(const Config& config, const CollectKeys& keys);

/// Reads the agents on this rank alone.
/// Errors: those of read_file() and parse_agents().
std::vector<Agent> read_agents(const AgentKeys& keys);

/// Tokenizes all questions and returns the sizes of each question.
/// Errors: Failure E531 for questions that cannot be used, if data.on_bad_row is stop; those of
///         CollectInputs::encoder().
std::vector<QuestionTokens> count_question_tokens(const CollectInputs& inputs);

}  // namespace mgpu::jobs
