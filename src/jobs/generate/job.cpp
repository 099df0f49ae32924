#include "job.hpp"

#include <memory>
#include <string>
#include <utility>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/input/row_options.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/kept_columns.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/reward_model.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/quarantined_rows.hpp>

#include "comparison.hpp"
#include "generate_run.hpp"
#include "inputs.hpp"
#include "pairs.hpp"
#include "results.hpp"

namespace mgpu::jobs {
namespace {

void print_banner(run::RunContext& run, const GenerateInputs& inputs, std::string memory) {
  report::BannerFacts facts;
  facts.memory = std::move(memory);
  facts.device = run.device.kind;
  facts.data = report::counted(inputs.prompts(), "prompt");
  if (inputs.config.num_samples > 1)
    facts.data += ", " + report::counted(inputs.config.num_samples, "completion") + " each";
  facts.data +=
      "; " +
      cluster::on_rank_0(run.topology.world(),
                         [&] { return rows::describe_model(inputs.folder, run.models); }) +
      run::groups_text(inputs.keys.rows.model) + "; " + sampling_text(inputs.keys, inputs.config) +
      run::part_note(inputs.keys.run);
  run.print_banner(facts);
  rows::log_head_note(run, inputs);
  for (const std::string& note :
       {scoring_note(run.config, inputs.keys), unused_note(inputs.config, inputs.model.generation),
        cluster::on_rank_0(run.topology.world(), [&] { return answer_note(inputs); })})
    if (!note.empty()) run.log.event({"note", {{"text", note}}});
}

SealedCompletions seal_run(run::RunContext& run, const GenerateInputs& inputs) {
  const auto sealing = run.clock.enter("seal");
  SealedCompletions sealed = seal_completions(run.topology.world(), run.journal,
                                              {run.config, run.store, run.directory}, inputs);
  run::log_part(run, inputs.keys.run);
  return sealed;
}

}  // namespace

JobSpec generate_job() {
  return {.name = "generate",
          .text = "completions and log-probabilities of prompts by a language model",
          .keys = {rows::add_model_folder_keys, lm::add_model_group_keys, add_data_path_key,
                   input::add_input_keys, datasets::add_dataset_keys, rows::add_chat_template_key,
                   rows::add_keep_columns_key, add_generate_keys, rewards::add_reward_keys},
          .check = [](const Config& config, int /*ranks*/) { check_generate_keys(config); },
          .read = [](const Config& config) -> std::unique_ptr<Job> {
            return std::make_unique<GenerateJob>(config);
          },
          .auto_chunk_size =
              [](const Config& config) {
                const GenerateKeys keys = read_generate_keys(config);
                return rows::auto_chunk_size(keys.rows, keys.num_samples);
              },
          .exports = {{"pairs", "", "pairs.jsonl", export_pairs}},
          .compare = compare_completions,
          .has_parts = true};
}

run::JobOutcome GenerateJob::run(run::RunContext& run) const {
  GenerateRun job(run, keys_);
  job.tokenize();
  print_banner(run, job.inputs(), job.memory_text());
  run::log_suspects(run, job.phase().chunks());
  if (!job.generate()) return job.phase().outcome(ExitCode::stopped);

  const SealedCompletions sealed = seal_run(run, job.inputs());
  run::JobOutcome outcome = job.phase().outcome(ExitCode::done);
  outcome.inputs = rows::checksums_of(job.inputs());
  const auto reward = job.inputs().inputs.find("reward.model");
  if (reward != job.inputs().inputs.end())
    outcome.inputs.emplace_back("reward model", "CRC-32C " + reward->second);
  const auto scorer = job.inputs().inputs.find("generate.reward.path");
  if (scorer != job.inputs().inputs.end())
    outcome.inputs.emplace_back("model of generate.reward.path", "CRC-32C " + scorer->second);
  add_completion_results(run, job.inputs(), sealed.evaluation, job.phase().work_of_groups(),
                         outcome);
  run::add_quarantined(run, job.phase().chunks(), outcome);
  return outcome;
}

run::MergedRun GenerateJob::merge(const cluster::Group& world, const run::SealPlace& place,
                                  const store::ChunkJournal& journal) const {
  const GenerateInputs inputs = read_generate_inputs(world, config_, keys_);
  rows::require_recorded_inputs(world, place.directory, inputs);
  const store::SealResult report =
      seal_completions(world, journal, place, inputs, /*may_lack_rows=*/true).report;
  run::MergedRun merged;
  merged.parts.push_back(
      {"completions", report.rows, report.rows + report.missing_rows, "samples"});
  return merged;
}

}  // namespace mgpu::jobs
