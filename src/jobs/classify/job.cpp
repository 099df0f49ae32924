#include "job.hpp"

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
#include "label_scorer.hpp"
#include "latency_file.hpp"
#include "results.hpp"
#include "table.hpp"

namespace mgpu::jobs {
namespace {

/// The inputs, the model of this rank's group, and the group's part of the rows.
class ClassifyRun {
public:
  explicit ClassifyRun(run::RunContext& run)
      : run_(run),
        inputs_(load_inputs(run)),
        maker_(inputs_.sample_maker()),
        table_(classify_table(inputs_.rows.rows(), inputs_.config)),
        phase_{"labels", inputs_.phase, inputs_.rows.rows(), run.config.integer("run.chunk_size"),
               run::read_chunk_part(run.config)},
        demand_(inputs_.demand(phase_.chunk_rows)) {
    const auto loading = run_.clock.enter("load");
    group_.emplace(run::open_model(run, inputs_.config.model));
    demand_.device = run.device.kind;
    demand_.matrices = lm::read_matrix_type(run.config);
    if (inputs_.config.batch_size == 0)
      demand_.batch_size = run::agreed_batch(run, *group_, demand_, run::kTexts);
    labels_.emplace(group_->model(), maker_, inputs_.config, inputs_.strategy, demand_.batch_size);
    if (group_->is_leader())
      latency_.emplace(run.directory.path(), run.directory.attempt(), run.topology.world().rank());
  }

  const ClassifyInputs& inputs() const { return inputs_; }

  /// The batch, and what rank 0 needs for it.
  std::string memory_text() const {
    return cluster::on_rank_0(run_.topology.world(), [&] {
      return run::at_once_text(labels_->batch_size(), run::kTexts) +
             (inputs_.config.batch_size == 0 ? " (auto): " : ": ") +
             run::room_text(run_, *group_, demand_);
    });
  }

  std::int64_t batch_size() const { return labels_->batch_size(); }

  /// Returns whether all rows are done; false means that a stop was asked for.
  bool classify() {
    const auto waiting = run_.clock.enter("waiting for ranks");
    return run::run_chunks(phase_, run_.topology, run_.journal,
                           {[&](const run::Chunk& chunk) { return classify(chunk); },
                            [&] { return run_.stop.poll() != StopReason::none; },
                            [&](std::int64_t samples) { tell(samples); }, &run_.clock},
                           run::read_chunk_sharing(run_));
  }

  SealedLabels seal() {
    const auto sealing = run_.clock.enter("seal");
    return seal_labels(run_.topology.world(), run_.journal,
                       {run_.config, run_.store, run_.directory}, inputs_);
  }

  std::vector<ClassifyWork> work_of_groups() const {
    std::vector<ClassifyWork> mine;
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
  static ClassifyInputs load_inputs(run::RunContext& run) {
    const auto loading = run.clock.enter("load");
    return read_classify_inputs(run.topology.world(), run.config);
  }

  std::vector<std::byte> classify(const run::Chunk& chunk) {
    const double begin_s = run_.clock.elapsed_s();
    last_ = chunk;
    std::vector<ClassifySample> samples;
    std::vector<GivenLabel> given;
    const auto classify = [&](std::int64_t first, std::int64_t count) {
      for (ClassifySample& sample : read_samples(first, count))
        samples.push_back(std::move(sample));
      const auto fresh = std::span(samples).last(static_cast<std::size_t>(count));
      for (GivenLabel& label : labels_of(fresh, first))
        given.push_back(std::move(label));
    };
    const auto leave_out = [&](std::int64_t, const std::string& reason) {
      samples.emplace_back().outcome = ClassifyOutcome::bad_row;
      samples.back().reason = reason;
      given.emplace_back();
    };
    run::work_on_rows(run_, phase_, chunk, {classify, leave_out});
    const double seconds = run_.clock.elapsed_s() - begin_s;
    work_.seconds += seconds;
    if (!group_->is_leader()) return {};
    latency_->add(chunk.first, chunk.count, seconds);
    const auto recording = run_.clock.enter("journal");
    return classify_rows(table_, chunk.first, samples, given, inputs_.config,
                         inputs_.strategy.name);
  }

  std::vector<ClassifySample> read_samples(std::int64_t first, std::int64_t count) {
    const auto reading = run_.clock.enter("tokenize");
    std::vector<ClassifySample> samples;
    for (const input::Row& row : inputs_.rows.read(first, count)) {
      samples.push_back(maker_.make(row, inputs_.rows.path()));
      work_.tokens += std::ssize(samples.back().ids);
    }
    return samples;
  }

  std::vector<GivenLabel> labels_of(std::span<const ClassifySample> samples, std::int64_t first) {
    const auto working = run_.clock.enter("classify");
    std::vector<GivenLabel> given;
    run::run_within_memory(
        run_, *group_, demand_, run::kTexts,
        {[&] { given = labels_->run(samples, first); }, [&] { return labels_->batch_size(); },
         [&](std::int64_t batch) { labels_->set_batch_size(batch); }});
    return given;
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
    run::tell_chunk(run_, "labels", samples);
  }

  run::RunContext& run_;
  ClassifyInputs inputs_;
  ClassifySampleMaker maker_;
  store::TableSpec table_;
  run::ChunkPhase phase_;
  lm::MemoryDemand demand_;
  std::optional<lm::ModelGroup> group_;
  std::optional<LabelModel> labels_;
  std::optional<LatencyFile> latency_;  // on the leader
  run::Chunk last_;
  ClassifyWork work_;
};

void announce(run::RunContext& run, const ClassifyInputs& inputs, std::string memory) {
  report::Facts facts;
  facts.memory = std::move(memory);
  facts.device = run.device.kind;
  facts.data = report::grouped(inputs.rows.rows()) + " samples of at most " +
               report::grouped(inputs.max_length()) + " tokens; " +
               cluster::on_rank_0(run.topology.world(),
                                  [&] { return rows::model_text(inputs.config.model); }) +
               run::groups_text(run) + "; " + classify_text(inputs.config) + "; prompt strategy " +
               inputs.strategy.name + run::part_note(run.config);
  run::show_workers(run, "Classification");
  run.announce(facts);
}

}  // namespace

run::JobOutcome run_classify_job(run::RunContext& run) {
  ClassifyRun job(run);
  announce(run, job.inputs(), job.memory_text());
  run::tell_suspects(run, job.phase());
  if (!job.classify()) return job.outcome(ExitCode::stopped);

  SealedLabels sealed = job.seal();
  run::tell_part(run);
  run::JobOutcome outcome = job.outcome(ExitCode::done);
  show_labels(run, job.inputs(), std::move(sealed.pictures), job.work_of_groups(), job.batch_size(),
              outcome);
  run::show_quarantined(run, job.phase(), outcome);
  return outcome;
}

run::MergedRun merge_classify_job(const cluster::Group& world, const run::SealPlace& place,
                                  const store::ChunkJournal& journal) {
  const ClassifyInputs inputs = read_classify_inputs(world, place.config);
  const store::SealReport report =
      seal_labels(world, journal, place, inputs, /*may_lack_rows=*/true).report;
  run::MergedRun merged;
  merged.parts.push_back({"labels", report.rows, report.rows + report.missing_rows, "samples"});
  return merged;
}

}  // namespace mgpu::jobs
