#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/parallel/memory_plan.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/run/run_context.hpp>

// A language model on the ranks of a run, and the batch that their memory has room for: what jobs
// on models do alike in their plans, at work and in their last words.
namespace mgpu::run {

/// How a job calls what it batches.
struct BatchWords {
  const char* key;   // "generate.batch_size"
  const char* one;   // "completion"
  const char* many;  // "completions"
};
inline constexpr BatchWords kCompletions{"generate.batch_size", "completion", "completions"};
inline constexpr BatchWords kTeacherSamples{"teacher.batch_size", "sample", "samples"};
inline constexpr BatchWords kTexts{"classify.batch_size", "text", "texts"};

/// The model of this rank's group, by the keys model.* and devices.*.
///
/// Ranks:  collective over the world. Errors: those of ModelGroup::open().
lm::ModelGroup open_model(const RunContext& run, const std::filesystem::path& folder);

/// ", on 2 ranks each (pipeline)"; "" where a rank holds it whole.
std::string groups_text(const RunContext& run);

/// "8 completions at once".
std::string at_once_text(std::int64_t batch, const BatchWords& words);

/// "12.3 MiB = weights 10.0 MiB + cache 1.3 MiB + activations 1.0 MiB", without what is 0.
std::string use_text(const lm::MemoryUse& use);

/// What to type: "devices.gpus_per_model=2 generate.batch_size=4"; "" when nothing fits.
std::string fit_text(const Config& config, const std::optional<lm::MemoryFit>& fit,
                     const BatchWords& words);

/// The largest batch up to demand.batch_size that every rank of the run has room for now, the model
/// loaded; a share of devices.memory_margin of what is free stays so.
///
/// Ranks:  collective over the world. Errors: no_room() where not even one sequence fits.
std::int64_t agreed_batch(const RunContext& run, const lm::ModelGroup& group,
                          const lm::MemoryDemand& demand, const BatchWords& words);

/// One sequence at a time is too much: what each rank of the group needs, and a command that fits.
///
/// Ranks:  collective over the group.
Failure no_room(const RunContext& run, const lm::ModelGroup& group, lm::MemoryDemand demand,
                const BatchWords& words);

/// What this rank needs for it, and has: "416.0 KiB = weights 108.0 KiB + ...; 3.2 GiB free".
std::string room_text(const RunContext& run, const lm::ModelGroup& group,
                      const lm::MemoryDemand& demand);

/// What works on a chunk with a batch of this size.
struct BatchWork {
  std::function<void()> run;
  std::function<std::int64_t()> batch_size;
  std::function<void(std::int64_t)> set_batch_size;
};

/// Runs it, with half the batch as often as memory does not suffice, and says so.
///
/// Ranks:  collective over the group. Errors: no_room(); others of the work.
void run_within_memory(const RunContext& run, const lm::ModelGroup& group,
                       const lm::MemoryDemand& demand, const BatchWords& words,
                       const BatchWork& work);

}  // namespace mgpu::run
