#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <mgpu/lm/parallel/memory_plan.hpp>
#include <mgpu/rows/model_rows.hpp>
#include <mgpu/run/model_memory.hpp>
#include <mgpu/run/run_context.hpp>

#include "keys.hpp"
#include "prompt_strategy.hpp"
#include "samples.hpp"

namespace mgpu::jobs {

inline constexpr run::BatchNames kTexts{"classify.batch_size", "text", "texts", "data.max_length"};

/// Holds the inputs of job classify: rows, settings, prompt strategy and the model's configuration.
/// The weights of the model are not included.
struct ClassifyInputs : rows::ModelRows {
  ClassifyConfig config{};
  PromptStrategy strategy{};
  std::uint32_t phase = 0;  // phase id in the journal, a checksum of rows, model and strategy

  /// Returns the largest allowed number of tokens of a prompt. If labels are scored, the label
  /// counts as part of the prompt. The result is data.max_length, except that a model with learned
  /// positions also limits it:
  /// - If labels are scored, the result is at most the number of positions.
  /// - If answers are generated, the result is at most the number of positions minus the number of
  ///   tokens of the longest answer.
  std::int64_t max_length() const;

  /// Returns an object that turns these rows into prompts.
  /// Errors: Failure E603 (exit 66) when the model's folder has no tokenizer; those of
  ///         rows::parse_tokenizer_files() and text::ChatTemplate.
  ClassifyEncoder encoder() const;

  run::RowCounts counts() const { return {config.run.chunk_size, rows.rows()}; }

  /// Returns the sizes that determine the memory of the model on `device`, for prompts of
  /// max_length() tokens and their labels or answers.
  lm::MemoryDemand demand(DeviceKind device) const;
};

/// Reads the rows, the model's configuration and the prompt strategy. Every rank gets the same
/// inputs.
///
/// Ranks:  collective over `world`.
/// Errors: those of open_rows(), of parse_strategy() and of reading the model's folder. If one rank
///         fails, all ranks throw.
ClassifyInputs read_classify_inputs(const cluster::Group& world, const Config& config,
                                    const ClassifyConfig& keys,
                                    lm::ResidentModels* models = nullptr);

/// Reads the rows, the model's configuration and the prompt strategy on this rank alone, for
/// --check and --plan.
/// Errors: those of open_rows(), of parse_strategy() and of reading the model's folder.
ClassifyInputs read_classify_inputs(const Config& config, const ClassifyConfig& keys);

}  // namespace mgpu::jobs
