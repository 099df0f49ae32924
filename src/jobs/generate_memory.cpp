#include "generate_memory.hpp"

#include <algorithm>
#include <utility>

#include <mgpu/report/text_format.hpp>
#include <mgpu/store/repro.hpp>

namespace mgpu::jobs {
namespace {

std::string bytes_text(std::int64_t bytes) {
  return report::bytes_text(static_cast<std::uint64_t>(bytes));
}

/// What this rank may fill beside its weights.
std::int64_t usable_bytes(const RunContext& run) {
  const auto free = static_cast<double>(language::free_bytes(run.topology.node(), run.device));
  return static_cast<std::int64_t>(free * (1.0 - run.config.number("devices.memory_margin")));
}

/// The command with groups that are larger than this one.
std::string larger_group(const RunContext& run, const language::ModelGroup& group,
                         const language::MemoryDemand& demand) {
  const language::LmConfig& model = group.model().config();
  const language::GroupPlan plan = language::read_group_plan(run.config);
  const int ranks = run.topology.world().size();
  for (int size = group.size() + 1; size <= ranks; ++size) {
    const bool can_be_split = ranks % size == 0 && language::can_be_split(model, plan, size);
    if (!can_be_split) continue;
    const fs::path config = run.directory.path() / "repro" / "config.resolved.yaml";
    return "mpirun -np " + std::to_string(ranks) + " ./mgpu_spmd " +
           store::shell_word(config.string()) + " " +
           fit_text(run.config, language::MemoryFit{size, demand.batch_size, {}});
  }
  return "more ranks and a larger devices.gpus_per_model, of which each has a smaller part of the "
         "model; or a shorter generate.max_new_tokens";
}

}  // namespace

language::MemoryDemand generation_demand(const GenerateInputs& inputs, std::int64_t chunk_rows,
                                         std::int64_t longest_prompt) {
  const language::GenerationConfig& generation = inputs.config.generation;
  const std::int64_t most = std::min(chunk_rows, inputs.prompts()) * inputs.config.num_samples;
  const bool is_auto = inputs.config.has_auto_batch;
  language::MemoryDemand demand;
  demand.batch_size = is_auto ? most : std::min(generation.batch_size, most);
  demand.longest = longest_prompt + std::max<std::int64_t>(0, generation.max_new_tokens - 1);
  demand.prefill_tokens = generation.prefill_tokens;
  demand.page_tokens = generation.page_tokens;
  demand.has_samples = inputs.config.num_samples > 1;
  return demand;
}

std::string use_text(const language::MemoryUse& use) {
  std::string parts;
  const auto add = [&parts](const char* what, std::int64_t bytes) {
    if (bytes == 0) return;
    parts += (parts.empty() ? " = " : " + ") + std::string(what) + " " + bytes_text(bytes);
  };
  add("weights", use.weights);
  add("cache", use.cache);
  add("activations", use.activations);
  add("buffers", use.buffers);
  return bytes_text(use.total()) + parts;
}

std::int64_t agreed_batch(const RunContext& run, const language::ModelGroup& group,
                          const language::MemoryDemand& demand) {
  const language::LanguageModel& model = group.model();
  std::int64_t mine = 0;
  cluster::run_together(run.topology.world(), [&] {
    mine = language::largest_batch(model.config(), model.shard(), demand, group.size(),
                                   usable_bytes(run));
  });
  return run.topology.world().all_reduce(mine, cluster::ReduceOp::min);
}

std::string room_text(const RunContext& run, const language::ModelGroup& group,
                      const language::MemoryDemand& demand) {
  const language::LanguageModel& model = group.model();
  return use_text(language::memory_of(model.config(), model.shard(), demand, group.size())) + "; " +
         bytes_text(language::free_bytes(run.topology.node(), run.device)) +
         " free beside the weights";
}

Failure no_room(const RunContext& run, const language::ModelGroup& group,
                language::MemoryDemand demand) {
  demand.batch_size = 1;
  const cluster::Group& ranks = run.topology.model_group();
  const std::string mine = "  rank " + std::to_string(run.topology.world().rank()) + ": " +
                           room_text(run, group, demand);
  Report report{"E301", ExitCode::out_of_memory,
                "out of memory with one completion at a time: generate.batch_size is 1",
                ranks.all_gather(std::string_view(mine)), ""};
  report.help = larger_group(run, group, demand);
  return Failure(std::move(report));
}

std::string fit_text(const Config& config, const std::optional<language::MemoryFit>& fit) {
  if (!fit) return "";
  const std::string ranks = std::to_string(fit->ranks);
  const bool has_groups = !config.integers("devices.groups").empty();  // one of the keys only
  return (has_groups ? "devices.groups=[" + ranks + "]" : "devices.gpus_per_model=" + ranks) +
         " generate.batch_size=" + std::to_string(fit->batch_size);
}

}  // namespace mgpu::jobs
