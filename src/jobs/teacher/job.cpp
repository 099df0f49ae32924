#include "job.hpp"

#include <algorithm>
#include <optional>
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

#include "export.hpp"
#include "inputs.hpp"
#include "results.hpp"
#include "work.hpp"

namespace mgpu::jobs {
namespace {

TeacherInputs load_inputs(const run::RunContext& run, const TeacherConfig& keys) {
  const auto loading = run.clock.enter("load");
  TeacherInputs inputs = read_teacher_inputs(run.topology.world(), run.config, keys, run.models);
  rows::record_inputs(run, inputs);
  return inputs;
}

run::ChunkPhase chunks_of(const TeacherInputs& inputs) {
  const run::JobKeys& keys = inputs.config.run;
  return {"targets", inputs.phase, inputs.rows.rows(), keys.chunk_size, keys.part};
}

/// Returns for each rank its share of the model and its use of time.
/// Ranks: collective over the world.
RankMap rank_map(const run::RunContext& run, const TeacherInputs& inputs, run::RowPhase& phase,
                 const TeacherWorker& worker) {
  const lm::Shard& shard = phase.group().model().shard();
  const RankPart mine{.group = run.topology.group_index(),
                      .first_layer = shard.layers.begin,
                      .last_layer = shard.layers.end,
                      .first_head = shard.heads.begin,
                      .last_head = shard.heads.end,
                      .busy_s = phase.work().seconds - worker.waiting_s(),
                      .waiting_s = worker.waiting_s(),
                      .idle_s = phase.seconds() - phase.work().seconds};
  RankMap map{std::ssize(inputs.model.layers), inputs.model.heads,
              run.device.kind == DeviceKind::cuda,
              cluster::all_gather_records(run.topology.world(), std::vector{mine})};
  const auto has_worked = [](const RankPart& rank) { return rank.busy_s > 0.0; };
  if (std::ranges::none_of(map.ranks,
                           has_worked))  // an earlier attempt did all work; show no times
    for (RankPart& rank : map.ranks)
      rank.idle_s = 0.0;
  return map;
}

void print_banner(run::RunContext& run, const TeacherInputs& inputs, std::string memory) {
  report::BannerFacts facts;
  facts.memory = std::move(memory);
  facts.device = run.device.kind;
  facts.data = report::counted(inputs.rows.rows(), "sample") + " of at most " +
               report::counted(inputs.max_length(), "token") + "; " +
               cluster::on_rank_0(run.topology.world(),
                                  [&] { return rows::describe_model(inputs.folder, run.models); }) +
               run::groups_text(inputs.config.rows.model) + "; " + targets_text(inputs.config) +
               run::part_note(inputs.config.run);
  run::print_workers(run, "Teacher Logits Generation");
  run.print_banner(facts);
  rows::log_head_note(run, inputs);
}

}  // namespace

JobSpec teacher_job() {
  return {.name = "teacher",
          .text = "next-token distributions of a language model for texts, for distillation",
          .keys = {rows::add_model_folder_keys, lm::add_model_group_keys, add_data_path_key,
                   input::add_input_keys, datasets::add_dataset_keys, rows::add_chat_template_key,
                   rows::add_keep_columns_key, rows::add_length_keys, add_teacher_keys},
          .check = [](const Config& config, int /*ranks*/) { check_teacher_keys(config); },
          .read = [](const Config& config) -> std::unique_ptr<Job> {
            return std::make_unique<TeacherJob>(config);
          },
          .auto_chunk_size =
              [](const Config& config) {
                return rows::auto_chunk_size(read_teacher_config(config).rows);
              },
          .exports = {{"padded-h5", "guide004", "teacher_logits.h5", export_padded_targets}},
          .has_parts = true};
}

run::JobOutcome TeacherJob::run(run::RunContext& run) const {
  const TeacherInputs inputs = load_inputs(run, keys_);
  run::RowPhase phase(run, {keys_.run, keys_.rows.model, keys_.rows.folder},
                      {chunks_of(inputs), "texts", kTeacherSamples, "teacher"});
  const std::int64_t batch =
      phase.choose_batch(inputs.demand(run.device.kind), inputs.config.batch_size == 0);
  TeacherWorker worker(inputs, phase.group(), batch);
  print_banner(run, inputs, phase.memory_text(batch));
  run::log_suspects(run, phase.chunks());
  if (!phase.run(worker)) return phase.outcome(ExitCode::stopped);

  seal_targets(run, inputs);
  run::JobOutcome outcome = phase.outcome(ExitCode::done);
  const std::vector<run::GroupWork> work = phase.work_of_groups();
  outcome.inputs = rows::checksums_of(inputs);
  add_target_results(run, inputs, work, rank_map(run, inputs, phase, worker), outcome);
  run::add_quarantined(run, phase.chunks(), outcome);
  return outcome;
}

run::MergedRun TeacherJob::merge(const cluster::Group& world, const run::SealPlace& place,
                                 const store::ChunkJournal& journal) const {
  const TeacherInputs inputs = read_teacher_inputs(world, config_, keys_);
  rows::require_recorded_inputs(world, place.directory, inputs);
  store::SealRequest request = teacher_request(place, inputs);
  request.partial = true;
  const store::SealResult report = store::seal(world, journal, request);
  run::MergedRun merged;
  merged.parts.push_back({"targets", report.rows, report.rows + report.missing_rows, "samples"});
  return merged;
}

}  // namespace mgpu::jobs
