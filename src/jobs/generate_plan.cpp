#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/jobs/generate_inputs.hpp>
#include <mgpu/jobs/generate_job.hpp>
#include <mgpu/jobs/generate_plan.hpp>
#include <mgpu/language/lm_weights.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/schedule/chunk_phase.hpp>

namespace mgpu::jobs {
namespace {

using report::Plan;

// What one rank does in a second on a core of its own: products of decoding are as fast as memory
// is read, those of prompts as fast as the core multiplies.
constexpr double kCpuDecodeBytes = 8e9;
constexpr double kCpuPromptFlops = 8e10;
constexpr double kSealBytesPerSecond = 1e8;  // write, read back, compress
// Code and buffers of libtorch, MPI and HDF5 that come into memory as they are used.
constexpr std::uint64_t kFirstUse = std::uint64_t{40} << 20;

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

/// The plan of one run, part by part.
class GeneratePlan {
public:
  GeneratePlan(const Config& config, const PlanMachine& machine)
      : config_(config),
        machine_(machine),
        inputs_(parse_generate_files(config, read_generate_files(config))),
        counts_(token_counts(inputs_)),
        parameters_(num_parameters(inputs_.model)) {}

  Plan make() {
    plan_.name = config_.text("run.name");
    plan_.device = machine_.device;
    plan_.ranks = machine_.ranks;
    plan_.machine = machine_.name;
    plan_.unit = "prompts";
    plan_.notes = {sampling_text(config_, inputs_.config)};
    add_shares();
    add_memory();
    add_times();
    add_limits();
    return std::move(plan_);
  }

private:
  std::int64_t new_tokens() const { return inputs_.config.generation.max_new_tokens; }

  void add_shares() {
    const auto chunks =
        schedule::pending_chunks({"", 0, inputs_.prompts(), config_.integer("run.chunk_size")}, {});
    for (int rank = 0; rank < machine_.ranks; ++rank) {
      const auto mine = schedule::static_share(chunks, rank, machine_.ranks);
      Plan::Share share{"rank " + std::to_string(rank), machine_.name};
      if (!mine.empty()) {
        share.first = mine.front().first;
        share.count = mine.back().first + mine.back().count - share.first;
      }
      plan_.shares.push_back(std::move(share));
    }
  }

  /// Keys and values of the completions that grow together, float32.
  std::uint64_t cache_bytes() const {
    const language::LmConfig& model = inputs_.model;
    const auto layers = static_cast<std::int64_t>(model.layers.size());
    const std::int64_t longest = *std::max_element(counts_.begin(), counts_.end()) + new_tokens();
    const std::int64_t sequences =
        std::min(inputs_.config.generation.batch_size, inputs_.samples()) +
        (inputs_.config.num_samples > 1 ? 1 : 0);
    return static_cast<std::uint64_t>(2 * layers * sequences * longest * model.kv_heads *
                                      model.head_dim) *
           sizeof(float);
  }

  /// A pass of prompt tokens: some rows of the widths, float32.
  std::uint64_t activation_bytes() const {
    const language::LmConfig& model = inputs_.model;
    const std::int64_t rows =
        inputs_.config.generation.prefill_tokens + inputs_.config.generation.batch_size;
    return static_cast<std::uint64_t>(rows * (8 * model.width + 3 * model.inner) + 256 * 4032) *
           sizeof(float);
  }

  void add_memory() {
    const auto weights = static_cast<std::uint64_t>(parameters_) * sizeof(float);
    std::uint64_t prompts = std::filesystem::file_size(inputs_.config.prompts) * 3;
    plan_.memory = {{"weights", weights},
                    {"cache", cache_bytes()},
                    {"activations", activation_bytes()},
                    {"prompts", prompts},
                    {"program", machine_.program_bytes + kFirstUse}};
    plan_.card_bytes = machine_.host_bytes / static_cast<std::uint64_t>(machine_.ranks_per_node);
  }

  void add_time(const char* what, double seconds, std::string basis) {
    plan_.times.push_back({what, seconds, Plan::Source::guess, std::move(basis)});
  }

  void add_times() {
    double prompt_tokens = 0.0;
    for (const std::int64_t count : counts_)
      prompt_tokens += static_cast<double>(count);
    const auto parameters = static_cast<double>(parameters_);
    add_time(
        "prompts", 2.0 * parameters * prompt_tokens / machine_.ranks / kCpuPromptFlops,
        report::text_of("%.3g tokens, %.0e FLOP/s on one core", prompt_tokens, kCpuPromptFlops));
    if (new_tokens() > 0) {
      const double passes = static_cast<double>(inputs_.samples() * new_tokens()) /
                            static_cast<double>(inputs_.config.generation.batch_size) /
                            machine_.ranks;
      add_time("completions", passes * parameters * sizeof(float) / kCpuDecodeBytes,
               report::text_of("%.3g passes of a rank at most, which read all weights at 8 GB/s",
                               passes));
    }
    add_time("seal", static_cast<double>(disk_bytes()) / kSealBytesPerSecond,
             report::bytes_text(disk_bytes()) + " written, 100 MB/s assumed");
  }

  std::uint64_t disk_bytes() const { return generate_disk_bytes(config_); }

  void add_limit(const char* what, std::uint64_t need, std::uint64_t have, const char* key) {
    if (have == 0) return;
    plan_.limits.push_back({what, static_cast<double>(need) / static_cast<double>(have),
                            report::bytes_text(need) + " of " + report::bytes_text(have), key});
  }

  void add_limits() {
    std::uint64_t bytes = 0;
    for (const Plan::Memory& part : plan_.memory)
      bytes += part.bytes;
    const auto ranks =
        static_cast<std::uint64_t>(std::min(machine_.ranks, machine_.ranks_per_node));
    add_limit("memory of a node", ranks * bytes, machine_.host_bytes, "generate.batch_size");
    add_limit("free disk", disk_bytes(), machine_.disk_bytes, "run.output");
  }

  const Config& config_;
  const PlanMachine& machine_;
  GenerateInputs inputs_;
  std::vector<std::int64_t> counts_;  // tokens of each prompt
  std::int64_t parameters_;
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
  require_cpu(config, machine.device);
  return GeneratePlan(config, machine).make();
}

}  // namespace mgpu::jobs
