#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/jobs/generate_inputs.hpp>
#include <mgpu/jobs/generate_job.hpp>
#include <mgpu/jobs/generate_plan.hpp>
#include <mgpu/report/text_format.hpp>

#include "model_plan.hpp"

namespace mgpu::jobs {
namespace {

using report::Plan;

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

/// The plan of one run, part by part.
class GeneratePlan {
public:
  GeneratePlan(const Config& config, const PlanMachine& machine)
      : config_(config),
        machine_(machine),
        inputs_(parse_generate_files(config, read_generate_files(config))),
        counts_(token_counts(inputs_)),
        plan_(config, machine, work()) {}

  Plan make() {
    Plan& plan = plan_.plan();
    plan.notes = {sampling_text(config_, inputs_.config)};
    if (const std::string note = scoring_note(config_); !note.empty()) plan.notes.push_back(note);
    plan_.add_shares();
    plan_.find_batch(inputs_.config.has_auto_batch);
    plan_.add_memory();
    add_times();
    plan_.add_limits();
    return std::move(plan);
  }

private:
  std::int64_t new_tokens() const { return inputs_.config.generation.max_new_tokens; }

  ModelPlan::Work work() const {
    return {.model = inputs_.model,
            .demand = inputs_.demand(config_.integer("run.chunk_size"),
                                     *std::ranges::max_element(counts_)),
            .words = kCompletions,
            .unit = "prompts",
            .samples = inputs_.prompts(),
            .beside = std::filesystem::file_size(inputs_.config.prompts) * 3,
            .beside_name = "prompts",
            .disk = generate_disk_bytes(config_)};
  }

  void add_times() {
    double prompt_tokens = 0.0;
    for (const std::int64_t count : counts_)
      prompt_tokens += static_cast<double>(count);
    const auto parameters = static_cast<double>(num_parameters(inputs_.model));
    const ModelPlan::Rates& rates = plan_.rates();
    plan_.add_time("prompts",
                   2.0 * parameters * prompt_tokens / machine_.ranks / rates.prompt_flops,
                   report::text_of("%.3g tokens, %.0e FLOP/s on %s", prompt_tokens,
                                   rates.prompt_flops, rates.on));
    if (new_tokens() > 0) {
      const language::MemoryDemand& demand = plan_.demand();
      const double passes = static_cast<double>(inputs_.samples() * new_tokens()) /
                            static_cast<double>(demand.batch_size) / machine_.ranks;
      const double bytes = demand.matrices == language::MatrixType::bf16 ? 2.0 : 4.0;
      plan_.add_time(
          "completions", passes * parameters * bytes / rates.decode_bytes,
          report::text_of("%.3g passes of a rank at most, which read all weights at %.0f GB/s",
                          passes, 1e-9 * rates.decode_bytes));
    }
    plan_.add_seal_time();
  }

  const Config& config_;
  const PlanMachine& machine_;
  GenerateInputs inputs_;
  std::vector<std::int64_t> counts_;  // tokens of each prompt
  ModelPlan plan_;
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
