#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/parallel/memory_plan.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/run/model_keys.hpp>
#include <mgpu/run/run_context.hpp>

// Opens a language model on the ranks of a run, and finds the largest batch that fits into their
// memory. All jobs that run a model use this code in their plans, during the work and in their
// summaries.
namespace mgpu::run {

/// The names of the items of a batch and of two keys, for messages.
struct BatchNames {
  const char* key;         // key of the batch size: "generate.batch_size"
  const char* one;         // "completion"
  const char* many;        // "completions"
  const char* length_key;  // key that limits the tokens of each item: "generate.max_new_tokens"
  /// Start of the arguments that set the number of paths per tree. The function paths_text()
  /// appends the number. "" for jobs without trees.
  const char* paths_key = "";
};

/// The number of rows of a chunk and of a data set, and the number of results that each row gives,
/// such as completions of a prompt.
struct RowCounts {
  std::int64_t chunk_rows = 0;  // rows of a chunk
  std::int64_t rows = 0;
  std::int64_t results_per_row = 1;
};

/// Returns how many results a group may make at once, without regard to memory. This is `batch`,
/// but at most the number of all results. A `batch` of 0 stands for auto: 32 on a CPU and 256 on a
/// GPU, but at least the number of results of a chunk.
std::int64_t most_at_once(const RowCounts& counts, std::int64_t batch, DeviceKind device);

/// Returns how many rows a group works on at once: the rows of the fewest whole chunks that give at
/// least `batch` results, but at most all rows.
std::int64_t rows_at_once(const RowCounts& counts, std::int64_t batch);

/// Opens the model in `folder` on every model group.
///
/// Ranks:  collective over the world.
/// Errors: those of ModelGroup::open().
lm::ModelGroup open_model(const RunContext& run, const ModelKeys& keys,
                          const std::filesystem::path& folder);

/// Formats "8 completions at once".
std::string at_once_text(std::int64_t batch, const BatchNames& names);

/// Formats "12.3 MiB = weights 10.0 MiB + cache 1.3 MiB + activations 1.0 MiB"; omits parts of size
/// 0.
std::string use_text(const lm::MemoryUse& use);

/// Formats `fit` as suggested arguments: "devices.gpus_per_model=2 generate.batch_size=4"; "" if
/// `fit` is empty.
std::string fit_text(const ModelKeys& keys, const std::optional<lm::MemoryFit>& fit,
                     const BatchNames& names);

/// Formats arguments for one tree of `paths` paths at a time: "collect.num_parent_paths=auto
/// collect.num_paths=3 collect.batch_size=3".
std::string paths_text(std::int64_t paths, const BatchNames& names);

/// Returns the largest batch up to demand.batch_size for which every rank of the run has enough
/// free memory after loading the model. The fraction devices.memory_margin of the free memory stays
/// unused.
///
/// Ranks:  collective over the world.
/// Errors: Failure E301 (exit 71) of no_headroom() when not even one sequence fits.
std::int64_t agreed_batch(const RunContext& run, const ModelKeys& keys, const lm::ModelGroup& group,
                          const lm::MemoryDemand& demand, const BatchNames& names);

/// Makes the failure E301 (exit 71) for a model that leaves no memory for even one sequence, or for
/// one tree if demand.tree_paths is above 0. The message shows the memory that each
/// rank of the group needs. Its help is a command with a larger group of ranks. If no group has
/// enough memory, the help is a command with fewer paths per tree. If that is not possible, or
/// demand.tree_paths is 0, the help is a sentence with keys to change.
///
/// Ranks:  collective over the group.
Failure no_headroom(const RunContext& run, const ModelKeys& keys, const lm::ModelGroup& group,
                    lm::MemoryDemand demand, const BatchNames& names);

/// Formats the memory that this rank needs, and the memory that is free now: "416.0 KiB = weights
/// 108.0 KiB + ...; 3.2 GiB free after loading the weights".
std::string headroom_text(const RunContext& run, const lm::ModelGroup& group,
                          const lm::MemoryDemand& demand);

/// Callbacks of run_within_memory(). `run` processes rows in batches. `batch_size` and
/// `set_batch_size` get and set the size of the batches.
struct BatchWork {
  std::function<void()> run;
  std::function<std::int64_t()> batch_size;
  std::function<void(std::int64_t)> set_batch_size;
};

/// Calls work.run. Each time memory runs out, halves the batch, logs that, and calls work.run
/// again. If memory runs out on one rank, work.run must throw on all ranks of the group.
///
/// Ranks:  collective over the group.
/// Errors: Failure E301 (exit 71) of no_headroom() when memory runs out with a batch of 1; any
///         other failure of work.run.
void run_within_memory(const RunContext& run, const ModelKeys& keys, const lm::ModelGroup& group,
                       const lm::MemoryDemand& demand, const BatchNames& names,
                       const BatchWork& work);

}  // namespace mgpu::run
