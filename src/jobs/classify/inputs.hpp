#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <mgpu/lm/parallel/memory_plan.hpp>
#include <mgpu/rows/model_rows.hpp>
#include <mgpu/run/run_context.hpp>

#include "keys.hpp"
#include "prompt_strategy.hpp"
#include "samples.hpp"

namespace mgpu::jobs {

/// What job classify works on, but for the weights.
struct ClassifyInputs : rows::ModelRows {
  ClassifyConfig config{};
  PromptStrategy strategy{};
  std::uint32_t phase = 0;  // in the journal: of these rows, this model and this strategy

  /// Tokens of a prompt with its label at most: data.max_length, or what learned positions leave
  /// beside a generated answer.
  std::int64_t max_length() const;

  /// Errors: Failure E603 (exit 66) when the folder has no tokenizer.
  ClassifySampleMaker sample_maker() const;

  /// The demand of chunks of so many texts of that length.
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
