#include "job.hpp"

#include <string>
#include <utility>
#include <vector>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/input/row_options.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/kept_columns.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/row_phase.hpp>
#include <mgpu/run/worker_table.hpp>

#include "error_pages.hpp"
#include "export.hpp"
#include "inputs.hpp"
#include "results.hpp"
#include "work.hpp"

namespace mgpu::jobs {
namespace {

ClassifyInputs load_inputs(const run::RunContext& run, const ClassifyConfig& keys) {
  const auto loading = run.clock.enter("load");
  ClassifyInputs inputs = read_classify_inputs(run.topology.world(), run.config, keys, run.models);
  rows::record_inputs(run, inputs);
  return inputs;
}

run::ChunkPhase chunks_of(const ClassifyInputs& inputs) {
  const run::JobKeys& keys = inputs.config.run;
  return {"labels", inputs.phase, inputs.rows.rows(), keys.chunk_size, keys.part};
}

SealedLabels seal(const run::RunContext& run, const ClassifyInputs& inputs) {
  const auto sealing = run.clock.enter("seal");
  return seal_labels(run.topology.world(), run.journal, {run.config, run.store, run.directory},
                     inputs);
}

void print_banner(run::RunContext& run, const ClassifyInputs& inputs, std::string memory) {
  report::BannerFacts facts;
  facts.memory = std::move(memory);
  facts.device = run.device.kind;
  facts.data = report::counted(inputs.rows.rows(), "sample") + " of at most " +
               report::counted(inputs.max_length(), "token") + "; " +
               cluster::on_rank_0(run.topology.world(),
                                  [&] { return rows::describe_model(inputs.folder, run.models); }) +
               run::groups_text(inputs.config.rows.model) + "; " + classify_text(inputs.config) +
               "; prompt strategy " + inputs.strategy.name + run::part_note(inputs.config.run);
  run::print_workers(run, "Classification");
  run.print_banner(facts);
  rows::log_head_note(run, inputs);
}

}  // namespace

JobSpec classify_job() {
  return {.name = "classify",
          .text = "labels of texts by a language model, and how good they are",
          .keys = {rows::add_model_folder_keys, lm::add_model_group_keys, add_data_path_key,
                   input::add_input_keys, datasets::add_dataset_keys, rows::add_chat_template_key,
                   rows::add_keep_columns_key, rows::add_length_keys, add_classify_keys},
          .check = [](const Config& config, int /*ranks*/) { check_classify_keys(config); },
          .read = [](const Config& config) -> std::unique_ptr<Job> {
            return std::make_unique<ClassifyJob>(config);
          },
          .auto_chunk_size =
              [](const Config& config) {
                return rows::auto_chunk_size(read_classify_config(config).rows);
              },
          .errors = kClassifyErrors,
          .exports = {{"csv", "", "", export_labels}},
          .has_parts = true};
}

run::JobOutcome ClassifyJob::run(run::RunContext& run) const {
  const ClassifyInputs inputs = load_inputs(run, keys_);
  run::RowPhase phase(run, {keys_.run, keys_.rows.model, keys_.rows.folder},
                      {chunks_of(inputs), "texts", kTexts, "classify"});
  const std::int64_t batch =
      phase.choose_batch(inputs.demand(run.device.kind), inputs.config.batch_size == 0);
  ClassifyWorker worker(run, inputs, phase.group(), batch);
  print_banner(run, inputs, phase.memory_text(batch));
  run::log_suspects(run, phase.chunks());
  if (!phase.run(worker)) return phase.outcome(ExitCode::stopped);

  SealedLabels sealed = seal(run, inputs);
  run::log_part(run, keys_.run);
  run::JobOutcome outcome = phase.outcome(ExitCode::done);
  outcome.inputs = rows::checksums_of(inputs);
  add_label_results(run, inputs, std::move(sealed.plots), phase.work_of_groups(),
                    worker.batch_size(), outcome);
  run::add_quarantined(run, phase.chunks(), outcome);
  return outcome;
}

run::MergedRun ClassifyJob::merge(const cluster::Group& world, const run::SealPlace& place,
                                  const store::ChunkJournal& journal) const {
  const ClassifyInputs inputs = read_classify_inputs(world, config_, keys_);
  rows::require_recorded_inputs(world, place.directory, inputs);
  const store::SealResult report =
      seal_labels(world, journal, place, inputs, /*may_lack_rows=*/true).report;
  run::MergedRun merged;
  merged.parts.push_back({"labels", report.rows, report.rows + report.missing_rows, "samples"});
  return merged;
}

}  // namespace mgpu::jobs
