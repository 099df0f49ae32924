#include "job.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/cluster/agree.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/run/careful_rows.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/model_memory.hpp>
#include <mgpu/run/worker_table.hpp>

#include "inputs.hpp"
#include "results.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

/// The inputs, the model of this rank's group, and the group's part of the rows.
class TeacherRun {
public:
  explicit TeacherRun(run::RunContext& run)
      : run_(run),
        inputs_(load_inputs(run)),
        maker_(inputs_.sample_maker()),
        table_(teacher_table(inputs_.rows.rows(), inputs_.config, inputs_.model.vocab)),
        phase_{"targets", inputs_.phase, inputs_.rows.rows(), run.config.integer("run.chunk_size"),
               run::read_chunk_part(run.config)},
        demand_(inputs_.demand(phase_.chunk_rows)) {
    const auto loading = run_.clock.enter("load");
    group_.emplace(run::open_model(run, inputs_.config.model));
    demand_.device = run.device.kind;
    demand_.matrices = lm::read_matrix_type(run.config);
    if (inputs_.config.batch_size == 0)
      demand_.batch_size = run::agreed_batch(run, *group_, demand_, run::kTeacherSamples);
    teacher_.emplace(group_->model(), inputs_.config, demand_.batch_size);
  }

  const TeacherInputs& inputs() const { return inputs_; }

  /// The batch, and what rank 0 needs for it.
  std::string memory_text() const {
    return cluster::on_rank_0(run_.topology.world(), [&] {
      return run::at_once_text(teacher_->batch_size(), run::kTeacherSamples) +
             (inputs_.config.batch_size == 0 ? " (auto): " : ": ") +
             run::room_text(run_, *group_, demand_);
    });
  }

  /// Returns whether all rows are done; false means that a stop was asked for.
  bool extract() {
    const auto waiting = run_.clock.enter("waiting for ranks");
    const double begin_s = run_.clock.elapsed_s();
    const bool is_whole =
        run::run_chunks(phase_, run_.topology, run_.journal,
                        {[&](const run::Chunk& chunk) { return extract(chunk); },
                         [&] { return run_.stop.poll() != StopReason::none; },
                         [&](std::int64_t samples) { tell(samples); }, &run_.clock},
                        run::read_chunk_sharing(run_));
    phase_s_ = run_.clock.elapsed_s() - begin_s;
    return is_whole;
  }

  /// What each rank holds, and how it spent its time. Ranks: collective.
  RankMap rank_map() const {
    const lm::Shard& shard = group_->model().shard();
    const RankPart mine{.group = run_.topology.group_index(),
                        .first_layer = shard.layers.begin,
                        .last_layer = shard.layers.end,
                        .first_head = shard.heads.begin,
                        .last_head = shard.heads.end,
                        .busy_s = work_.seconds - waiting_s_,
                        .waiting_s = waiting_s_,
                        .idle_s = phase_s_ - work_.seconds};
    RankMap map{std::ssize(inputs_.model.layers), inputs_.model.heads,
                run_.device.kind == DeviceKind::cuda,
                cluster::all_gather_records(run_.topology.world(), std::vector{mine})};
    const auto has_worked = [](const RankPart& rank) { return rank.busy_s > 0.0; };
    if (std::ranges::none_of(map.ranks, has_worked))  // all was done before
      for (RankPart& rank : map.ranks)
        rank.idle_s = 0.0;
    return map;
  }

  std::vector<TeacherWork> work_of_groups() const {
    std::vector<TeacherWork> mine;
    if (group_->is_leader()) mine.push_back(work_);
    return cluster::all_gather_records(run_.topology.world(), mine);
  }

  const run::ChunkPhase& phase() const { return phase_; }

  run::JobOutcome outcome(ExitCode exit) const {
    run::JobOutcome outcome;
    outcome.exit = exit;
    outcome.unit = "samples";
    outcome.total = run::samples_of_part(phase_);
    outcome.done = outcome.total;
    for (const auto& chunk : run::pending_chunks(phase_, run_.journal.done(phase_.id)))
      outcome.done -= chunk.count;
    outcome.samples_here = work_.samples;
    return outcome;
  }

private:
  static TeacherInputs load_inputs(run::RunContext& run) {
    const auto loading = run.clock.enter("load");
    return read_teacher_inputs(run.topology.world(), run.config);
  }

  std::vector<std::byte> extract(const run::Chunk& chunk) {
    const double begin_s = run_.clock.elapsed_s();
    last_ = chunk;
    std::vector<TeacherSample> samples;
    std::vector<TokenTargets> targets;
    const auto extract = [&](std::int64_t first, std::int64_t count) {
      for (TeacherSample& sample : read_samples(first, count))
        samples.push_back(std::move(sample));
      for (TokenTargets& of_sample : targets_of(std::span(samples).last(as_size(count)), first))
        targets.push_back(std::move(of_sample));
    };
    const auto leave_out = [&](std::int64_t, const std::string& reason) {
      samples.push_back({{}, SampleStatus::bad_row, 0, reason});
      targets.emplace_back();
    };
    run::work_on_rows(run_, phase_, chunk, {extract, leave_out});
    work_.seconds += run_.clock.elapsed_s() - begin_s;
    if (!teacher_->speaks()) return {};
    const auto recording = run_.clock.enter("journal");
    return teacher_rows(table_, chunk.first, samples, targets, inputs_.config, inputs_.model.vocab);
  }

  static std::size_t as_size(std::int64_t count) { return static_cast<std::size_t>(count); }

  std::vector<TeacherSample> read_samples(std::int64_t first, std::int64_t count) {
    const auto reading = run_.clock.enter("tokenize");
    std::vector<TeacherSample> samples;
    for (const input::Row& row : inputs_.rows.read(first, count))
      samples.push_back(maker_.make(row, inputs_.rows.path()));
    return samples;
  }

  std::vector<TokenTargets> targets_of(std::span<const TeacherSample> samples, std::int64_t first) {
    const auto working = run_.clock.enter("teacher");
    std::vector<std::vector<std::int64_t>> texts;
    for (const TeacherSample& sample : samples) {
      texts.push_back(sample.text.ids);
      work_.tokens += std::ssize(sample.text.ids);
    }
    std::vector<TokenTargets> targets;
    group_->start_clock();
    run::run_within_memory(
        run_, *group_, demand_, run::kTeacherSamples,
        {[&] { targets = teacher_->run(texts, first); }, [&] { return teacher_->batch_size(); },
         [&](std::int64_t batch) { teacher_->set_batch_size(batch); }});
    waiting_s_ += group_->times().waiting_s;
    return targets;
  }

  /// Progress of this group, on its leader; that of rank 0 is seen.
  void tell(std::int64_t samples) {
    work_.samples += samples;
    const double rate = static_cast<double>(work_.tokens) / work_.seconds;
    const run::ChunkProgress progress = run::progress_of(run_, phase_, last_, work_.samples);
    run_.log.event(
        {"gen",
         {{"samples", progress.done}, {"total", progress.total}, {"tokens_per_second", rate}}});
    run_.scalars.scalar("perf/tokens_per_second", work_.samples, rate);
    run::tell_chunk(run_, "targets", samples);
  }

  run::RunContext& run_;
  TeacherInputs inputs_;
  SampleMaker maker_;
  store::TableSpec table_;
  run::ChunkPhase phase_;
  lm::MemoryDemand demand_;
  std::optional<lm::ModelGroup> group_;
  std::optional<TeacherModel> teacher_;
  run::Chunk last_;
  TeacherWork work_;
  double waiting_s_ = 0.0;  // of it: for other ranks of the group
  double phase_s_ = 0.0;    // from the first chunk of any rank to the last
};

void announce(run::RunContext& run, const TeacherInputs& inputs, std::string memory) {
  report::Facts facts;
  facts.memory = std::move(memory);
  facts.device = run.device.kind;
  facts.data = report::grouped(inputs.rows.rows()) + " samples of at most " +
               report::grouped(inputs.max_length()) + " tokens; " +
               cluster::on_rank_0(run.topology.world(),
                                  [&] { return rows::model_text(inputs.config.model); }) +
               run::groups_text(run) + "; " + targets_text(inputs.config) +
               run::part_note(run.config);
  run::show_workers(run, "Teacher Logits Generation");
  run.announce(facts);
}

}  // namespace

run::JobOutcome run_teacher_job(run::RunContext& run) {
  TeacherRun job(run);
  announce(run, job.inputs(), job.memory_text());
  run::tell_suspects(run, job.phase());
  if (!job.extract()) return job.outcome(ExitCode::stopped);

  seal_targets(run, job.inputs());
  run::JobOutcome outcome = job.outcome(ExitCode::done);
  const std::vector<TeacherWork> work = job.work_of_groups();
  show_targets(run, job.inputs(), work, job.rank_map(), outcome);
  run::show_quarantined(run, job.phase(), outcome);
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
