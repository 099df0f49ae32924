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

/// The inputs of job classify, without the weights.
struct ClassifyInputs : rows::ModelRows {
  ClassifyConfig config{};
  PromptStrategy strategy{};
  std::uint32_t phase = 0;  // in the journal: identifies rows, model and strategy

  /// Upper bound of the tokens of a prompt with its label. It is data.max_length, or the learned
  /// positions minus the room for a generated answer.
  std::int64_t max_length() const;

  /// Errors: Failure E603 (exit 66) when the folder has no tokenizer.
  ClassifySampleMaker sample_maker() const;

  /// The memory demand of chunks of `chunk_rows` texts of that length.
  lm::MemoryDemand demand(std::int64_t chunk_rows) const;
};

/// Errors: those of open_rows(), of parse_strategy() and of the model's folder; the same on all
///         ranks.
///
/// Ranks:  collective.
ClassifyInputs read_classify_inputs(const cluster::Group& world, const Config& config,
                                    const ClassifyConfig& keys,
                                    lm::ResidentModels* models = nullptr);

/// The same for one rank, for --check and --plan.
ClassifyInputs read_classify_inputs(const Config& config, const ClassifyConfig& keys);

}  // namespace mgpu::jobs
