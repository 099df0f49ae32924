#include <algorithm>
#include <exception>
#include <utility>

#include <mgpu/report/text_format.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/model_memory.hpp>
#include <mgpu/store/run_dir/repro.hpp>

namespace mgpu::run {
namespace {

std::string bytes_text(std::int64_t bytes) {
  return report::bytes_text(static_cast<std::uint64_t>(bytes));
}

/// Returns how many bytes this rank may use in addition to its weights.
std::int64_t usable_bytes(const RunContext& run) {
  const auto free = static_cast<double>(lm::free_bytes(run.topology.node(), run.device));
  return static_cast<std::int64_t>(free * (1.0 - run.cluster.memory_margin));
}

/// Returns how many bytes this rank could use if its weights were freed.
std::int64_t bytes_without_model(const RunContext& run, const lm::ModelGroup& group,
                                 const lm::MemoryDemand& demand) {
  const lm::LanguageModel& model = group.model();
  return usable_bytes(run) +
         lm::memory_of(model.config(), model.shard(), demand, group.size()).weights;
}

/// Returns a command that starts the run again with `arguments`.
std::string command_with(const RunContext& run, const std::string& arguments) {
  const fs::path config = run.directory.path() / "repro" / "config.resolved.yaml";
  return "mpirun -np " + std::to_string(run.topology.world().size()) + " ./mgpu_spmd " +
         store::shell_word(config.string()) + " " + arguments;
}

/// The room that every rank of a group has.
struct Headroom {
  std::int64_t bytes = 0;  // smallest result of bytes_without_model() among the ranks
  std::int64_t paths = 0;  // smallest result of paths_with_room() among the ranks; 0 without trees
};

/// Returns a command with the smallest group larger than `group` that has room for one item. If no
/// such group exists, returns a command with fewer paths per tree, or advice.
std::string fitting_command(const RunContext& run, const ModelKeys& keys,
                            const lm::ModelGroup& group, const lm::MemoryDemand& demand,
                            const BatchNames& names, const Headroom& headroom) {
  const auto fit = lm::fit_memory(group.model().config(), keys.plan, demand, headroom.bytes,
                                  run.topology.world().size(), group.size() + 1);
  if (fit) return command_with(run, fit_text(keys, fit, names));
  if (headroom.paths > 0) return command_with(run, paths_text(headroom.paths, names));
  return "more ranks and a larger devices.gpus_per_model, of which each has a smaller part of "
         "the model; or a shorter " +
         std::string(names.length_key);
}

/// Returns the largest number of paths per tree for which this rank has memory.
std::int64_t paths_with_room(const RunContext& run, const lm::ModelGroup& group,
                             const lm::MemoryDemand& demand) {
  const lm::LanguageModel& model = group.model();
  return lm::largest_tree(model.config(), model.shard(), demand, group.size(), usable_bytes(run));
}

/// Returns the sentence of no_headroom()'s report: memory is short even with the smallest batch.
std::string smallest_batch_text(const lm::MemoryDemand& demand, const BatchNames& names) {
  if (demand.tree_paths > 0)
    return "out of memory with the " + std::to_string(demand.tree_paths) +
           " paths of one question at a time";
  return std::string("out of memory with one ") + names.one + " at a time: " + names.key + " is 1";
}

/// Returns a warning that a smaller batch may change the last digits of results on a GPU. Returns
/// "" on a CPU, where the batch does not change results.
std::string batch_promise(const RunContext& run) {
  if (run.device.kind == DeviceKind::cpu) return "";
  return ". On a GPU its numbers may differ in the last digits from those of a run that had memory";
}

}  // namespace

std::string paths_text(std::int64_t paths, const BatchNames& names) {
  const std::string number = std::to_string(paths);
  return names.paths_key + number + " " + names.key + "=" + number;
}

std::int64_t most_at_once(const RowCounts& counts, std::int64_t batch, DeviceKind device) {
  constexpr std::int64_t kAutoOnGpu = 256;  // a pass reads all weights, so it should have many rows
  if (batch == 0) {
    batch = std::max(device == DeviceKind::cuda ? kAutoOnGpu : kLargestAutoChunk,
                     counts.chunk_rows * counts.results_per_row);
  }
  return std::min(batch, counts.rows * counts.results_per_row);
}

std::int64_t rows_at_once(const RowCounts& counts, std::int64_t batch) {
  const std::int64_t results = counts.chunk_rows * counts.results_per_row;
  const std::int64_t chunks = (batch + results - 1) / results;
  return std::min(chunks * counts.chunk_rows, counts.rows);
}

lm::ModelGroup open_model(const RunContext& run, const ModelKeys& keys,
                          const std::filesystem::path& folder) {
  return lm::ModelGroup::open(folder, run.topology,
                              {.plan = keys.plan,
                               .load = {.matrices = keys.matrices},
                               .backend = run.backend,
                               .device = run.device,
                               .communicator = {.timeout_s = run.cluster.timeout_s},
                               .resident = run.models});
}

std::string at_once_text(std::int64_t batch, const BatchNames& names) {
  return std::to_string(batch) + " " + (batch == 1 ? names.one : names.many) + " at once";
}

std::string use_text(const lm::MemoryUse& use) {
  std::string parts;
  const auto add = [&parts](const char* what, std::int64_t bytes) {
    if (bytes == 0) return;
    parts += (parts.empty() ? " = " : " + ") + std::string(what) + " " + bytes_text(bytes);
  };
  add("weights", use.weights);
  add("cache", use.cache);
  add("activations", use.activations);
  add("buffers", use.buffers);
  add("other models", use.others);
  return bytes_text(use.total()) + parts;
}

std::int64_t agreed_batch(const RunContext& run, const ModelKeys& keys, const lm::ModelGroup& group,
                          const lm::MemoryDemand& demand, const BatchNames& names) {
  const lm::LanguageModel& model = group.model();
  const cluster::Group& world = run.topology.world();
  std::int64_t mine = 0;
  cluster::run_together(world, [&] {
    mine =
        lm::largest_batch(model.config(), model.shard(), demand, group.size(), usable_bytes(run));
  });
  const std::int64_t batch = world.all_reduce(mine, cluster::ReduceOp::min);
  // The report of no_headroom() describes only the ranks of the caller's group. All groups throw
  // the same report because of run_together().
  cluster::run_together(world, [&] {
    if (batch == 0) throw no_headroom(run, keys, group, demand, names);
  });
  return batch;
}

std::string headroom_text(const RunContext& run, const lm::ModelGroup& group,
                          const lm::MemoryDemand& demand) {
  const lm::LanguageModel& model = group.model();
  return use_text(lm::memory_of(model.config(), model.shard(), demand, group.size())) + "; " +
         bytes_text(lm::free_bytes(run.topology.node(), run.device)) +
         " free after loading the weights";
}

Failure no_headroom(const RunContext& run, const ModelKeys& keys, const lm::ModelGroup& group,
                    lm::MemoryDemand demand, const BatchNames& names) {
  demand.batch_size = 1;
  const cluster::Group& ranks = run.topology.model_group();
  std::string mine;
  Headroom headroom;
  cluster::run_together(ranks, [&] {  // may fail on one rank, because memory is short
    mine = "  rank " + std::to_string(run.topology.world().rank()) + ": " +
           headroom_text(run, group, demand);
    headroom = {bytes_without_model(run, group, demand), paths_with_room(run, group, demand)};
  });
  ErrorReport report{"E301", ExitCode::out_of_memory, smallest_batch_text(demand, names),
                     ranks.all_gather(std::string_view(mine)), ""};
  headroom = {ranks.all_reduce(headroom.bytes, cluster::ReduceOp::min),
              ranks.all_reduce(headroom.paths, cluster::ReduceOp::min)};
  report.help = fitting_command(run, keys, group, demand, names, headroom);
  return Failure(std::move(report));
}

std::string fit_text(const ModelKeys& keys, const std::optional<lm::MemoryFit>& fit,
                     const BatchNames& names) {
  if (!fit) return "";
  const std::string ranks = std::to_string(fit->ranks);
  return (keys.has_groups ? "devices.groups=[" + ranks + "]" : "devices.gpus_per_model=" + ranks) +
         " " + names.key + "=" + std::to_string(fit->batch_size);
}

void run_within_memory(const RunContext& run, const ModelKeys& keys, const lm::ModelGroup& group,
                       const lm::MemoryDemand& demand, const BatchNames& names,
                       const BatchWork& work) {
  for (;;) {
    const std::exception_ptr failure = cluster::failure_of(work.run);
    if (!failure) return;
    if (report_of(failure).exit != ExitCode::out_of_memory) std::rethrow_exception(failure);
    const std::int64_t batch = work.batch_size();
    if (batch == 1) throw no_headroom(run, keys, group, demand, names);
    {
      // The clock counts this phase, so run.h5 shows how often the batch was halved.
      const auto halving = run.clock.enter("batch halved for memory");
      work.set_batch_size(batch / 2);
    }
    if (!group.is_leader()) continue;
    run.log.event({"warn",
                   {{"text", "out of memory with " + at_once_text(batch, names) +
                                 ": these rows are processed again with " +
                                 std::to_string(batch / 2) + batch_promise(run)}}});
  }
}

}  // namespace mgpu::run
