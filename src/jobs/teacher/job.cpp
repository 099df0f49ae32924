#include "job.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/cluster/agree.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/row_phase.hpp>
#include <mgpu/run/worker_table.hpp>

#include "inputs.hpp"
#include "results.hpp"
#include "work.hpp"

namespace mgpu::jobs {
namespace {

TeacherInputs load_inputs(const run::RunContext& run) {
  const auto loading = run.clock.enter("load");
  return read_teacher_inputs(run.topology.world(), run.config, run.models);
}

run::ChunkPhase chunks_of(const run::RunContext& run, const TeacherInputs& inputs) {
  return {"targets", inputs.phase, inputs.rows.rows(), run.config.integer("run.chunk_size"),
          run::read_chunk_part(run.config)};
}

/// The share of the model of each rank, and its use of time. Ranks: collective.
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
  if (std::ranges::none_of(map.ranks, has_worked))  // an earlier attempt did everything
    for (RankPart& rank : map.ranks)
      rank.idle_s = 0.0;
  return map;
}

void announce(run::RunContext& run, const TeacherInputs& inputs, std::string memory) {
  report::Facts facts;
  facts.memory = std::move(memory);
  facts.device = run.device.kind;
  facts.data =
      report::grouped(inputs.rows.rows()) + " samples of at most " +
      report::grouped(inputs.max_length()) + " tokens; " +
      cluster::on_rank_0(run.topology.world(),
                         [&] { return rows::model_text(inputs.config.model, run.models); }) +
      run::groups_text(run) + "; " + targets_text(inputs.config) + run::part_note(run.config);
  run::show_workers(run, "Teacher Logits Generation");
  run.announce(facts);
}

}  // namespace

run::JobOutcome run_teacher_job(run::RunContext& run) {
  const TeacherInputs inputs = load_inputs(run);
  run::RowPhase phase(run, inputs.config.model,
                      {chunks_of(run, inputs), run::kTeacherSamples, "teacher"});
  const std::int64_t batch =
      phase.settle_batch(inputs.demand(phase.chunks().chunk_rows), inputs.config.batch_size == 0);
  TeacherWorker worker(inputs, phase.group(), batch);
  announce(run, inputs, phase.memory_text(batch));
  run::tell_suspects(run, phase.chunks());
  if (!phase.run(worker)) return phase.outcome(ExitCode::stopped);

  seal_targets(run, inputs);
  run::JobOutcome outcome = phase.outcome(ExitCode::done);
  const std::vector<run::GroupWork> work = phase.work_of_groups();
  show_targets(run, inputs, work, rank_map(run, inputs, phase, worker), outcome);
  run::show_quarantined(run, phase.chunks(), outcome);
  return outcome;
}

run::MergedRun merge_teacher_job(const cluster::Group& world, const run::SealPlace& place,
                                 const store::ChunkJournal& journal) {
  const TeacherInputs inputs = read_teacher_inputs(world, place.config);
  store::SealRequest request = teacher_request(place, inputs);
  request.partial = true;
  const store::SealReport report = store::seal(world, journal, request);
  run::MergedRun merged;
  merged.parts.push_back({"targets", report.rows, report.rows + report.missing_rows, "samples"});
  return merged;
}

}  // namespace mgpu::jobs
