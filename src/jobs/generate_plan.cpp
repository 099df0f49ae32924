#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/jobs/generate_inputs.hpp>
#include <mgpu/jobs/generate_job.hpp>
#include <mgpu/jobs/generate_plan.hpp>
#include <mgpu/language/lm_weights.hpp>
#include <mgpu/language/memory_plan.hpp>
#include <mgpu/report/text_format.hpp>

#include "model_memory.hpp"
#include "plan_parts.hpp"

namespace mgpu::jobs {
namespace {

using report::Plan;

/// What one rank does in a second: products of decoding are as fast as memory is read, those of
/// prompts as fast as it multiplies.
struct Rates {
  double decode_bytes;
  double prompt_flops;
  const char* on;
};
constexpr Rates kCoreRates{8e9, 8e10, "one core"};
constexpr Rates kGpuRates{1.5e12, 2e13, "one GPU"};

/// Lengths of all prompts, in tokens.
std::vector<std::int64_t> token_counts(const GenerateInputs& inputs) {
  PromptEncoder encoder = inputs.encoder();
  store::LineProblems problems(inputs.config.prompts);
  std::vector<std::int64_t> counts;
  for (const PromptRow& row : inputs.rows)
    if (const auto encoded = encoder.encode(row, problems))
      counts.push_back(std::ssize(encoded->ids));
  problems.throw_if_any();
  return counts;
}

std::int64_t num_parameters(const language::LmConfig& config) {
  std::int64_t sum = 0;
  for (const model::ParameterSpec& spec : language::weight_specs(config)) {
    std::int64_t count = 1;
    for (const std::int64_t size : spec.shape)
      count *= size;
    sum += count;
  }
  return sum;
}

/// "rank 3", "ranks 4 to 5".
std::string ranks_text(int first, int count) {
  if (count == 1) return "rank " + std::to_string(first);
  return "ranks " + std::to_string(first) + " to " + std::to_string(first + count - 1);
}

/// The plan of one run, part by part.
class GeneratePlan {
public:
  GeneratePlan(const Config& config, const PlanMachine& machine)
      : config_(config),
        machine_(machine),
        inputs_(parse_generate_files(config, read_generate_files(config))),
        counts_(token_counts(inputs_)),
        parameters_(num_parameters(inputs_.model)),
        sizes_(cluster::read_cluster_config(config).group_sizes()),
        split_(language::read_group_plan(config)),
        memory_(memory_of_ranks(config, machine, "generate.batch_size")),
        plan_(begin_plan(config, machine, "prompts")) {
    demand_ = inputs_.demand(chunk_size(), *std::ranges::max_element(counts_));
    demand_.device = machine.device;
    demand_.matrices = language::read_matrix_type(config);
  }

  Plan make() {
    plan_.notes = {sampling_text(config_, inputs_.config)};
    if (const std::string note = scoring_note(config_); !note.empty()) plan_.notes.push_back(note);
    add_shares();
    find_batch();
    add_memory();
    add_times();
    add_limits();
    return std::move(plan_);
  }

private:
  std::int64_t new_tokens() const { return inputs_.config.generation.max_new_tokens; }
  std::int64_t chunk_size() const { return config_.integer("run.chunk_size"); }

  void add_shares() {
    const std::vector<int> groups = cluster::group_of_each_rank(machine_.ranks, sizes_);
    const int num_groups = groups.back() + 1;
    for (int group = 0; group < num_groups; ++group) {
      const auto [first, last] = std::ranges::equal_range(groups, group);
      Plan::Share share = chunk_share(inputs_.prompts(), chunk_size(), group, num_groups);
      share.who =
          ranks_text(static_cast<int>(first - groups.begin()), static_cast<int>(last - first));
      share.where = machine_.name;
      plan_.shares.push_back(std::move(share));
    }
  }

  /// What a rank has beside model and batch.
  std::uint64_t prompt_bytes() const {
    return std::filesystem::file_size(inputs_.config.prompts) * 3;
  }

  /// What it has room for beside those.
  std::int64_t room() const {
    constexpr std::int64_t kUnknown = std::int64_t{1} << 60;
    if (memory_.have == 0) return kUnknown;
    return static_cast<std::int64_t>(memory_.room()) -
           static_cast<std::int64_t>(prompt_bytes() + program_bytes(machine_));
  }

  void find_batch() {
    fit_ = language::fit_memory(inputs_.model, split_, demand_, room(), machine_.ranks);
    if (!inputs_.config.has_auto_batch) return;
    for (const int size : sizes_) {
      for (const language::Shard& shard : language::shards_of(inputs_.model, split_, size)) {
        const auto weights = language::memory_of(inputs_.model, shard, demand_, size).weights;
        demand_.batch_size = std::max<std::int64_t>(
            1, language::largest_batch(inputs_.model, shard, demand_, size, room() - weights));
      }
    }
    plan_.notes.push_back("generate.batch_size=auto: " + std::to_string(demand_.batch_size) +
                          " with all of this memory; a run goes by what is free");
  }

  /// The fullest rank; the others of its group are notes.
  void add_memory() {
    language::MemoryUse fullest;
    for (const int size : std::set<int>(sizes_.begin(), sizes_.end())) {
      const auto shards = language::shards_of(inputs_.model, split_, size);
      for (std::size_t r = 0; r < shards.size(); ++r) {
        const auto use = language::memory_of(inputs_.model, shards[r], demand_, size);
        if (use.total() > fullest.total()) fullest = use;
        if (sizes_ == std::vector<int>{1}) continue;
        plan_.notes.push_back("rank " + std::to_string(r) + " of a group of " +
                              std::to_string(size) + ": " + use_text(use));
      }
    }
    plan_.notes.push_back(
        fit_ ? "smallest group and largest batch that fit: " + fit_text(config_, fit_, kCompletions)
             : "no group of these ranks has room for the model and one completion");
    const auto bytes = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    plan_.memory = {{"weights", bytes(fullest.weights)},
                    {"cache", bytes(fullest.cache)},
                    {"activations", bytes(fullest.activations)},
                    {"buffers", bytes(fullest.buffers)},
                    {"prompts", prompt_bytes()},
                    {"program", program_bytes(machine_)}};
  }

  void add_time(const char* what, double seconds, std::string basis) {
    plan_.times.push_back({what, seconds, Plan::Source::guess, std::move(basis)});
  }

  void add_times() {
    double prompt_tokens = 0.0;
    for (const std::int64_t count : counts_)
      prompt_tokens += static_cast<double>(count);
    const auto parameters = static_cast<double>(parameters_);
    const Rates& rates = machine_.device == DeviceKind::cuda ? kGpuRates : kCoreRates;
    add_time("prompts", 2.0 * parameters * prompt_tokens / machine_.ranks / rates.prompt_flops,
             report::text_of("%.3g tokens, %.0e FLOP/s on %s", prompt_tokens, rates.prompt_flops,
                             rates.on));
    if (new_tokens() > 0) {
      const double passes = static_cast<double>(inputs_.samples() * new_tokens()) /
                            static_cast<double>(demand_.batch_size) / machine_.ranks;
      const double bytes = demand_.matrices == language::MatrixType::bf16 ? 2.0 : 4.0;
      add_time("completions", passes * parameters * bytes / rates.decode_bytes,
               report::text_of("%.3g passes of a rank at most, which read all weights at %.0f GB/s",
                               passes, 1e-9 * rates.decode_bytes));
    }
    add_time("seal", static_cast<double>(disk_bytes()) / kSealBytesPerSecond,
             report::bytes_text(disk_bytes()) + " written, 100 MB/s assumed");
  }

  std::uint64_t disk_bytes() const { return generate_disk_bytes(config_); }

  void add_limits() {
    add_memory_limit(plan_, memory_, planned_bytes(plan_),
                     [&] { return fit_text(config_, fit_, kCompletions); });
    add_limit(plan_, "free disk", disk_bytes(), machine_.disk_bytes, "run.output");
  }

  const Config& config_;
  const PlanMachine& machine_;
  GenerateInputs inputs_;
  std::vector<std::int64_t> counts_;  // tokens of each prompt
  std::int64_t parameters_;
  std::vector<int> sizes_;  // of the groups, in turn
  language::GroupPlan split_;
  language::MemoryDemand demand_;
  std::optional<language::MemoryFit> fit_;
  SharedMemory memory_;
  Plan plan_;
};

}  // namespace

std::uint64_t generate_disk_bytes(const Config& config) {
  const std::filesystem::path path = config.text("data.path");
  if (!std::filesystem::exists(path)) return 0;  // --check says so in a line of its own
  const std::string prompts = read_file(path);
  const auto lines = static_cast<std::uint64_t>(std::count(prompts.begin(), prompts.end(), '\n'));
  const auto new_tokens = static_cast<std::uint64_t>(config.integer("generate.max_new_tokens"));
  const auto samples = static_cast<std::uint64_t>(config.integer("generate.num_samples"));
  // A byte of text is at most a token: an id, a log-probability, and the byte itself. A completion
  // has its own, and some eight bytes of text a token.
  const std::uint64_t row = new_tokens * 16 + 256;
  return 2 * samples * (prompts.size() * 9 + (lines + 1) * row);
}

report::Plan plan_generate(const Config& config, const PlanMachine& machine) {
  check_generate_files(config);
  return GeneratePlan(config, machine).make();
}

}  // namespace mgpu::jobs
