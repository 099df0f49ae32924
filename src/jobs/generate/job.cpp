#include "job.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <mgpu/cluster/agree.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/run/careful_rows.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/model_memory.hpp>

#include "completions.hpp"
#include "inputs.hpp"
#include "results.hpp"

namespace mgpu::jobs {
namespace {

/// Problems of all ranks on all ranks.
formats::LineProblems all_problems(const cluster::Group& world, const std::filesystem::path& path,
                                   const formats::LineProblems& mine) {
  formats::LineProblems all(path);
  for (const std::string& theirs : world.all_gather(std::string_view(mine.packed())))
    all.unpack(theirs);
  return all;
}

/// The inputs on every rank, the model of this rank's group, and the group's part of the prompts.
class GenerateRun {
public:
  explicit GenerateRun(run::RunContext& run)
      : run_(run), world_(run.topology.world()), inputs_(load_inputs(run)) {
    phase_ = {"completions", inputs_.phase, inputs_.prompts(), run.config.integer("run.chunk_size"),
              run::read_chunk_part(run.config)};
    const auto loading = run_.clock.enter("load");
    group_.emplace(run::open_model(run, inputs_.config.model));
    cluster::run_together(world_, [&] {
      encoder_.emplace(inputs_.encoder());
      table_ = completion_table(inputs_.prompts(), inputs_.config);
    });
  }

  const GenerateInputs& inputs() const { return inputs_; }

  /// Looks at all prompts that no earlier attempt has completed, each rank at its share, before any
  /// of them is worked on.
  void tokenize() {
    const auto tokenizing = run_.clock.enter("tokenize");
    const auto pending = run::pending_chunks(phase_, run_.journal.done(phase_.id));
    formats::LineProblems mine(inputs_.rows.path());
    std::int64_t longest = 0;
    cluster::run_together(world_, [&] {
      for (const run::Chunk& chunk : run::static_share(pending, world_.rank(), world_.size()))
        for (const rows::EncodedPrompt& prompt : encode(chunk, mine))
          longest = std::max<std::int64_t>(longest, std::ssize(prompt.ids));
    });
    const formats::LineProblems all = all_problems(world_, inputs_.rows.path(), mine);
    cluster::run_together(world_, [&] { all.throw_if_any(input::kBadRowHelp); });
    find_batch(world_.all_reduce(longest, cluster::ReduceOp::max));
  }

  /// The batch, and what rank 0 needs for it: "8 completions at once: 416.0 KiB = ...".
  std::string memory_text() const {
    return cluster::on_rank_0(world_, [&] {
      return run::at_once_text(completer_->batch_size(), run::kCompletions) +
             (inputs_.config.has_auto_batch ? " (auto): " : ": ") +
             run::room_text(run_, *group_, demand_);
    });
  }

  /// Returns whether all prompts are complete; false means that a stop was asked for.
  bool generate() {
    const auto waiting = run_.clock.enter("waiting for ranks");
    return run::run_chunks(phase_, topology(), run_.journal,
                           {[&](const run::Chunk& chunk) { return complete(chunk); },
                            [&] { return run_.stop.poll() != StopReason::none; },
                            [&](std::int64_t prompts) { tell(prompts); }, &run_.clock},
                           run::read_chunk_sharing(run_));
  }

  std::vector<GroupWork> work_of_groups() const {
    std::vector<GroupWork> mine;
    if (group_->is_leader()) mine.push_back(work_);
    return cluster::all_gather_records(world_, mine);
  }

  const run::ChunkPhase& phase() const { return phase_; }

  run::JobOutcome outcome(ExitCode exit) const {
    run::JobOutcome outcome;
    outcome.exit = exit;
    outcome.unit = "samples";
    outcome.total = run::samples_of_part(phase_) * inputs_.config.num_samples;
    std::int64_t pending = 0;
    for (const auto& chunk : run::pending_chunks(phase_, run_.journal.done(phase_.id)))
      pending += chunk.count;
    outcome.done = outcome.total - pending * inputs_.config.num_samples;
    outcome.samples_here = work_.prompts * inputs_.config.num_samples;
    return outcome;
  }

private:
  const cluster::Topology& topology() const { return run_.topology; }

  static GenerateInputs load_inputs(run::RunContext& run) {
    const auto loading = run.clock.enter("load");
    return read_generate_inputs(run.topology.world(), run.config);
  }

  /// What the longest prompt of all that are to be completed asks for.
  void find_batch(std::int64_t longest) {
    demand_ = inputs_.demand(phase_.chunk_rows, longest);
    demand_.device = run_.device.kind;
    demand_.matrices = lm::read_matrix_type(run_.config);
    if (inputs_.config.has_auto_batch) {
      demand_.batch_size = run::agreed_batch(run_, *group_, demand_, run::kCompletions);
      inputs_.config.generation.batch_size = demand_.batch_size;
    }
    cluster::run_together(world_,
                          [&] { completer_.emplace(group_->model(), *encoder_, inputs_.config); });
  }

  /// The prompts of a chunk but for those that are left out.
  std::vector<rows::EncodedPrompt> encode(const run::Chunk& chunk,
                                          formats::LineProblems& problems) {
    std::vector<rows::EncodedPrompt> encoded;
    run::work_on_rows(
        run_, phase_, chunk,
        {[&](std::int64_t first, std::int64_t count) {
           for (rows::EncodedPrompt& prompt : inputs_.encode(first, count, *encoder_, problems))
             encoded.push_back(std::move(prompt));
         },
         [](std::int64_t, const std::string&) {}});
    return encoded;
  }

  /// Some prompts; tokenize() has seen that they can be used.
  std::vector<rows::EncodedPrompt> encoded(std::int64_t first, std::int64_t count) {
    const auto tokenizing = run_.clock.enter("tokenize");
    formats::LineProblems problems(inputs_.rows.path());
    std::vector<rows::EncodedPrompt> prompts = inputs_.encode(first, count, *encoder_, problems);
    problems.throw_if_any(input::kBadRowHelp);
    return prompts;
  }

  std::vector<CompletedPrompt> completed(std::span<const rows::EncodedPrompt> prompts,
                                         std::int64_t first) {
    std::vector<CompletedPrompt> completed;
    run::run_within_memory(run_, *group_, demand_, run::kCompletions,
                           {[&] { completed = completer_->run(prompts, first); },
                            [&] { return completer_->batch_size(); },
                            [&](std::int64_t batch) { completer_->set_batch_size(batch); }});
    return completed;
  }

  std::vector<std::byte> complete(const run::Chunk& chunk) {
    last_ = chunk;
    const auto generating = run_.clock.enter("generate");
    const double begin_s = run_.clock.elapsed_s();
    std::vector<rows::EncodedPrompt> prompts;
    std::vector<CompletedPrompt> completed;
    const auto complete = [&](std::int64_t first, std::int64_t count) {
      for (rows::EncodedPrompt& prompt : encoded(first, count))
        prompts.push_back(std::move(prompt));
      const auto fresh = std::span(prompts).last(static_cast<std::size_t>(count));
      for (CompletedPrompt& one : this->completed(fresh, first))
        completed.push_back(std::move(one));
    };
    const auto leave_out = [&](std::int64_t, const std::string& reason) {
      prompts.emplace_back();
      completed.emplace_back().failure = reason;
    };
    run::work_on_rows(run_, phase_, chunk, {complete, leave_out});
    if (!group_->is_leader()) return {};
    count(prompts, completed);
    const auto recording = run_.clock.enter("journal");
    auto rows = completion_rows(table_, chunk.first, prompts, completed, inputs_.config.num_samples,
                                *encoder_);
    work_.seconds += run_.clock.elapsed_s() - begin_s;
    return rows;
  }

  void count(const std::vector<rows::EncodedPrompt>& prompts,
             const std::vector<CompletedPrompt>& completed) {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      work_.prompt_tokens += std::ssize(prompts[i].ids);
      for (const lm::Completion& completion : completed[i].result.completions)
        work_.output_tokens += std::ssize(completion.ids);
    }
  }

  /// Progress of this group, on its leader; that of rank 0 is seen.
  void tell(std::int64_t prompts) {
    work_.prompts += prompts;
    const std::int64_t done = work_.prompts * inputs_.config.num_samples;
    const bool is_scoring = inputs_.config.generation.max_new_tokens == 0;
    const std::int64_t tokens = is_scoring ? work_.prompt_tokens : work_.output_tokens;
    const double rate = static_cast<double>(tokens) / work_.seconds;
    const run::ChunkProgress progress = run::progress_of(run_, phase_, last_, work_.prompts);
    run_.log.event({"gen",
                    {{"samples", progress.done * inputs_.config.num_samples},
                     {"total", progress.total * inputs_.config.num_samples},
                     {"tokens_per_second", rate}}});
    run_.scalars.scalar("perf/tokens_per_second", done, rate);
    if (!is_scoring)
      run_.scalars.scalar("train/completions/mean_length", done,
                          static_cast<double>(tokens) / static_cast<double>(done));
    run::tell_chunk(run_, "completions", prompts);
  }

  run::RunContext& run_;
  const cluster::Group& world_;
  GenerateInputs inputs_;
  run::ChunkPhase phase_;
  std::optional<rows::PromptEncoder> encoder_;
  std::optional<lm::ModelGroup> group_;
  lm::MemoryDemand demand_;
  std::optional<Completer> completer_;
  store::TableSpec table_;
  run::Chunk last_;
  GroupWork work_;  // on the leader
};

void announce(run::RunContext& run, const GenerateInputs& inputs, std::string memory) {
  report::Facts facts;
  facts.memory = std::move(memory);
  facts.device = run.device.kind;
  facts.data = report::grouped(inputs.prompts()) + " prompts";
  if (inputs.config.num_samples > 1)
    facts.data += ", " + report::grouped(inputs.config.num_samples) + " completions each";
  facts.data += "; " +
                cluster::on_rank_0(run.topology.world(),
                                   [&] { return rows::model_text(inputs.config.model); }) +
                run::groups_text(run) + "; " + sampling_text(run.config, inputs.config) +
                run::part_note(run.config);
  run.announce(facts);
  for (const std::string& note :
       {scoring_note(run.config), unused_note(inputs.config, inputs.model.generation)})
    if (!note.empty()) run.log.event({"note", {{"text", note}}});
}

}  // namespace

run::JobOutcome run_generate_job(run::RunContext& run) {
  GenerateRun job(run);
  job.tokenize();
  announce(run, job.inputs(), job.memory_text());
  run::tell_suspects(run, job.phase());
  if (!job.generate()) return job.outcome(ExitCode::stopped);

  seal_completions(run, job.inputs());
  run::JobOutcome outcome = job.outcome(ExitCode::done);
  show_completions(run, job.inputs(), job.work_of_groups(), outcome);
  run::show_quarantined(run, job.phase(), outcome);
  return outcome;
}

run::MergedRun merge_generate_job(const cluster::Group& world, const run::SealPlace& place,
                                  const store::ChunkJournal& journal) {
  const GenerateInputs inputs = read_generate_inputs(world, place.config);
  store::SealRequest request = generate_request(place, inputs);
  request.partial = true;
  const store::SealReport report = store::seal(world, journal, request);
  run::MergedRun merged;
  merged.parts.push_back(
      {"completions", report.rows, report.rows + report.missing_rows, "samples"});
  return merged;
}

}  // namespace mgpu::jobs
