#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/jobs/generate_inputs.hpp>
#include <mgpu/jobs/run_context.hpp>
#include <mgpu/language/memory_plan.hpp>

// What job generate needs of memory, for its plan, its batch and its last words.
namespace mgpu::jobs {

/// The demand of chunks of so many prompts, the longest of which has so many tokens. A batch is
/// never larger than the completions of a chunk; generate.batch_size=auto asks for all of them.
language::MemoryDemand generation_demand(const GenerateInputs& inputs, std::int64_t chunk_rows,
                                         std::int64_t longest_prompt);

/// "12.3 MiB = weights 10.0 MiB + cache 1.3 MiB + activations 1.0 MiB", without what is 0.
std::string use_text(const language::MemoryUse& use);

/// What to type: "devices.gpus_per_model=2 generate.batch_size=4"; "" when nothing fits.
std::string fit_text(const Config& config, const std::optional<language::MemoryFit>& fit);

/// The largest batch up to demand.batch_size that every rank of the run has room for now, the model
/// loaded; a share of devices.memory_margin of what is free stays so. 0: not even one sequence.
///
/// Ranks:  collective over the world.
std::int64_t agreed_batch(const RunContext& run, const language::ModelGroup& group,
                          const language::MemoryDemand& demand);

/// One completion at a time is too much: what each rank of the group needs, and a command that
/// fits.
///
/// Ranks:  collective over the group.
Failure no_room(const RunContext& run, const language::ModelGroup& group,
                language::MemoryDemand demand);

/// What this rank needs for it, and has: "416.0 KiB = weights 108.0 KiB + ...; 3.2 GiB free".
std::string room_text(const RunContext& run, const language::ModelGroup& group,
                      const language::MemoryDemand& demand);

}  // namespace mgpu::jobs
