// A job with two sessions: the lower half of the ranks runs job generate, and the upper half
// completes the same rows while a second model rates the candidates. Both share one copy of the
// weights.
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/input/row_file.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/prompt_encoder.hpp>
#include <mgpu/run/model_memory.hpp>
#include <mgpu/run/session.hpp>
#include <mgpu/store/run_dir/repro.hpp>

#include "second_opinion.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kNewTokens = 4;

/// Completes the rows of the configuration, each rank its share, and returns the mean score.
run::JobOutcome complete_with_second_opinion(run::RunContext& run) {
  const cluster::Group& group = run.topology.world();
  const rows::ModelRowKeys keys = rows::read_model_row_keys(run.config);
  const datasets::DatasetRows& from = keys.dataset.value();
  const lm::ModelGroup opened = run::open_model(run, keys.model, keys.folder);
  const lm::LanguageModel& model = opened.model();
  lm::SecondOpinion opinion(model);
  lm::GenerationConfig config;
  config.max_new_tokens = kNewTokens;
  config.page_tokens = 4;
  config.processors.candidate = &opinion;
  lm::Generator generator(model, config);
  rows::PromptEncoder encoder(std::nullopt, keys.folder, {.vocab = model.config().vocab});
  const input::RowFile file = input::open_rows(group, keys.options);
  double score = 0.0;
  cluster::run_together(group, [&] {
    for (std::int64_t i = group.rank(); i < file.rows(); i += group.size()) {
      const rows::EncodedPrompt prompt = encoder.encode(file.read(i, 1).front());
      const std::vector<lm::Prompt> prompts{{static_cast<std::uint64_t>(i), prompt.ids}};
      const lm::PromptResult result = generator.run(prompts).front();
      score += from.dataset->score(from.split, i, {"", result.completions.front().ids});
    }
  });
  run::JobOutcome outcome;
  outcome.done = outcome.total = file.rows();
  outcome.results = {
      {"score", "score", group.all_reduce(score) / static_cast<double>(file.rows())}};
  return outcome;
}

class HalvesJob final : public Job {
public:
  explicit HalvesJob(const Config& config)
      : config_(config), run_keys_(run::read_job_keys(config)) {}

  const run::JobKeys& run_keys() const override { return run_keys_; }
  void check_files() const override {}
  std::vector<run::FileCheck> file_checks() const override { return {}; }
  std::uint64_t disk_bytes() const override { return 1 << 20; }
  report::Plan plan(const run::PlanMachine& /*machine*/) const override { return {}; }
  run::JobOutcome run(run::RunContext& run) const override;
  run::MergedRun merge(const cluster::Group&, const run::SealPlace&,
                       const store::ChunkJournal&) const override {
    throw Error("job halves cannot be merged");
  }

private:
  run::SessionRequest request(const run::RunContext& run, bool is_low) const;

  const Config& config_;
  run::JobKeys run_keys_;
};

run::SessionRequest HalvesJob::request(const run::RunContext& run, bool is_low) const {
  const int size = run.topology.world().size();
  const int half = size / 2;
  std::vector<int> members(static_cast<std::size_t>(is_low ? half : size - half));
  std::iota(members.begin(), members.end(), is_low ? 0 : half);
  const Config config = config_.with("job", "generate");
  store::RunRequest directory;
  directory.output = run.directory.path();
  directory.name = is_low ? "low" : "high";
  directory.job = "generate";
  directory.identity = config.identity();
  directory.keys = store::identity_keys(config);
  return {directory.name, std::move(members), config, directory};
}

run::JobOutcome HalvesJob::run(run::RunContext& run) const {
  const cluster::Group& world = run.topology.world();
  const bool is_low = world.rank() < world.size() / 2;
  run::SessionHost host(run);
  run::Session session(host, request(run, is_low));
  const run::SessionOutcome ended = session.run(is_low ? run_job : complete_with_second_opinion);
  host.close();
  cluster::run_together(world, [&] {
    if (ended.failure) throw Failure(*ended.failure);
  });
  run::JobOutcome outcome;
  outcome.unit = "rows";
  outcome.done = outcome.total = ended.job.done;
  for (const bool low : {true, false}) {
    const int leader = low ? 0 : world.size() / 2;
    double score = -1.0;  // less than any score
    for (const report::Result& result : ended.job.results)
      if (world.rank() == leader && result.key == "score") score = result.value;
    outcome.results.push_back({low ? "low_score" : "high_score", low ? "alone" : "with an opinion",
                               world.all_reduce(score, cluster::ReduceOp::max), "", 4});
  }
  return outcome;
}

}  // namespace

JobSpec halves_job() {
  return {
      .name = "halves",
      .text = "two sessions, each on half of the ranks",
      .keys = {rows::add_model_folder_keys, lm::add_model_group_keys, datasets::add_dataset_keys},
      .check =
          [](const Config& config, int ranks) {
            if (ranks % 2 != 0)
              throw config.problem("E125", "job", "job halves needs an even number of ranks",
                                   "mpirun -np 2");
          },
      .read = [](const Config& config) -> std::unique_ptr<Job> {
        return std::make_unique<HalvesJob>(config);
      }};
}

}  // namespace mgpu::jobs
