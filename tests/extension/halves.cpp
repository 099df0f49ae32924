// Defines a job with two sessions. The lower half of the ranks runs job generate on the first half
// of the rows. The upper half completes the other rows, while a second model rates the candidates.
// Both sessions share one copy of the weights per node.
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/input/row_file.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/prompt_encoder.hpp>
#include <mgpu/rows/row_problems.hpp>
#include <mgpu/run/model_memory.hpp>
#include <mgpu/run/session.hpp>
#include <mgpu/store/run_dir/repro.hpp>

#include "second_opinion.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kNewTokens = 4;
constexpr const char* kOpinionKey = "halves.opinion";

void add_keys(KeyTable& table) {
  table.add({.name = kOpinionKey,
             .type = KeyType::path,
             .default_value = "null",
             .summary = "Hugging Face folder of the model that rates candidates",
             .choices = {"null"}});
}

/// The scores of one rank.
struct Scores {
  std::int64_t rows = 0;
  std::int64_t bad_rows = 0;
  double sum = 0.0;
};

/// Completes the rows that `keys` describe, each rank its share, and returns the mean score. The
/// model in `opinion_folder` rates the candidates. Rows that cannot be used end the session, or
/// cause a warning if data.on_bad_row is `mark`.
run::JobOutcome complete_with_second_opinion(run::RunContext& run, const rows::ModelRowKeys& keys,
                                             const std::string& opinion_folder) {
  const cluster::Group& group = run.topology.world();
  const datasets::DatasetRows& from = keys.dataset.value();
  const lm::ModelGroup opened = run::open_model(run, keys.model, keys.folder);
  const lm::LanguageModel& model = opened.model();
  const lm::ModelGroup second = run::open_model(run, keys.model, opinion_folder);
  lm::SecondOpinion opinion(second.model());
  lm::GenerationConfig config;
  config.max_new_tokens = kNewTokens;
  config.page_tokens = 4;
  config.processors.candidate = &opinion;
  lm::Generator generator(model, config);
  rows::PromptEncoder encoder(std::nullopt, keys.folder, {.vocab = model.config().vocab});
  const input::RowFile file = input::open_rows(group, keys.options);
  Scores scores;
  cluster::run_together(group, [&] {
    for (std::int64_t i = group.rank(); i < file.rows(); i += group.size()) {
      const input::Row row = file.read(i, 1).front();
      const rows::EncodedPrompt prompt = encoder.encode(row);
      if (prompt.ids.empty()) {
        if (keys.options.on_bad_row == input::BadRow::stop)
          rows::refuse_row(file.path(), row, prompt.facts.reason, input::kBadRowHelp);
        ++scores.bad_rows;
        continue;
      }
      const std::int64_t index = keys.options.start + row.id;  // in the data set
      const std::vector<lm::Prompt> prompts{{static_cast<std::uint64_t>(index), prompt.ids}};
      const lm::PromptResult result = generator.run(prompts).front();
      scores.sum += from.dataset->score(from.split, index, {"", result.completions.front().ids});
      ++scores.rows;
    }
  });
  run::JobOutcome outcome;
  outcome.total = file.rows();
  outcome.done = group.all_reduce(scores.rows);
  const std::int64_t bad_rows = group.all_reduce(scores.bad_rows);
  if (bad_rows > 0)
    run.log.event({"warn", {{"text", std::to_string(bad_rows) + " rows are left out"}}});
  run.log.event({"note", {{"text", std::to_string(outcome.done) + " rows have a second opinion"}}});
  const double sum = group.all_reduce(scores.sum);
  if (outcome.done > 0)
    outcome.results = {{"score", "score", sum / static_cast<double>(outcome.done)}};
  return outcome;
}

class HalvesJob final : public Job {
public:
  explicit HalvesJob(const Config& config)
      : config_(config),
        run_keys_(run::read_job_keys(config)),
        rows_(rows::read_model_row_keys(config).options.generated->rows()),
        opinion_folder_(config.text(kOpinionKey)),
        high_(half_of(false)),
        high_keys_(rows::read_model_row_keys(high_)) {}

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
  Config half_of(bool is_low) const;
  run::SessionRequest request(const run::RunContext& run, bool is_low) const;

  const Config& config_;
  run::JobKeys run_keys_;
  std::int64_t rows_;
  std::string opinion_folder_;
  Config high_;  // configuration of the session of the upper half
  rows::ModelRowKeys high_keys_;
};

/// Returns the configuration with which a session completes one half of the rows.
Config HalvesJob::half_of(bool is_low) const {
  return jobs::with_chunk_size(
      config_.with("job", "generate")
          .with("data.start", std::to_string(is_low ? 0 : rows_ / 2))
          .with("data.max_samples", std::to_string(is_low ? rows_ / 2 : rows_))
          .with("run.chunk_size", "auto"));
}

run::SessionRequest HalvesJob::request(const run::RunContext& run, bool is_low) const {
  const int size = run.topology.world().size();
  const int half = size / 2;
  std::vector<int> members(static_cast<std::size_t>(is_low ? half : size - half));
  std::iota(members.begin(), members.end(), is_low ? 0 : half);
  const Config config = is_low ? half_of(true) : high_;
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
  const run::SessionOutcome ended = session.run([&](run::RunContext& mine) {
    return is_low ? run_job(mine) : complete_with_second_opinion(mine, high_keys_, opinion_folder_);
  });
  run::SessionsEnd end = host.close();
  run::JobOutcome outcome;
  outcome.exit = end.exit;
  outcome.notes = std::move(end.notes);
  outcome.unit = "rows";
  for (const bool low : {true, false}) {
    const bool is_leader = world.rank() == (low ? 0 : world.size() / 2);
    double score = -1.0;  // less than any score
    for (const report::Result& result : ended.job.results)
      if (is_leader && result.key == "score") score = result.value;
    score = world.all_reduce(score, cluster::ReduceOp::max);
    outcome.done += world.all_reduce(is_leader ? ended.job.done : 0);
    outcome.total += world.all_reduce(is_leader ? ended.job.total : 0);
    if (score >= 0.0)
      outcome.results.push_back(
          {low ? "low_score" : "high_score", low ? "alone" : "with an opinion", score, "", 4});
  }
  return outcome;
}

}  // namespace

JobSpec halves_job() {
  return {.name = "halves",
          .text = "two sessions, each on half of the ranks",
          .keys = {rows::add_model_folder_keys, lm::add_model_group_keys,
                   datasets::add_dataset_keys, add_keys},
          .check =
              [](const Config& config, int ranks) {
                if (ranks % 2 != 0)
                  throw config.problem("E125", "job", "job halves needs an even number of ranks",
                                       "mpirun -np 2");
                if (config.is("data.dataset", "none"))
                  throw config.problem("E114", "data.dataset",
                                       "job halves needs a built-in data set",
                                       "data.dataset=counting");
                if (config.is(kOpinionKey, "null"))
                  throw config.problem("E114", kOpinionKey, "job halves needs `halves.opinion`",
                                       "halves.opinion=FOLDER");
              },
          .read = [](const Config& config) -> std::unique_ptr<Job> {
            return std::make_unique<HalvesJob>(config);
          }};
}

}  // namespace mgpu::jobs
