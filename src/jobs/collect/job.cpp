#include "job.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/formats/safetensors.hpp>
#include <mgpu/input/row_options.hpp>
#include <mgpu/lm/decode/realignment.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/kept_columns.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/pending_rows.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/quarantined_rows.hpp>
#include <mgpu/run/row_phase.hpp>
#include <mgpu/tensor/tensor_view.hpp>

#include "error_pages.hpp"
#include "inputs.hpp"
#include "pt_export.hpp"
#include "results.hpp"
#include "stepwise.hpp"
#include "work.hpp"

namespace mgpu::jobs {
namespace {

/// Writes realignment.safetensors with the matrix that maps hidden states to input embeddings. The
/// metadata of the file has the mean norm of the input embeddings.
void write_realignment(const std::filesystem::path& folder, const lm::Realignment& realignment) {
  const std::filesystem::path path = folder / "realignment.safetensors";
  std::filesystem::remove(path);  // an earlier attempt may have written it
  const std::array tensors{formats::NamedTensor{"matrix", realignment.matrix().sizes().vec(),
                                                tensor::view_of(realignment.matrix())}};
  formats::write_safetensors(path, tensors,
                             {{"mean_norm", report::text_of("%.17g", realignment.mean_norm())}});
}

CollectInputs load_inputs(const run::RunContext& run, const CollectKeys& keys) {
  const auto loading = run.clock.enter("load");
  CollectInputs inputs = read_collect_inputs(run.topology.world(), run.config, keys, run.models);
  rows::record_inputs(run, inputs);
  return inputs;
}

run::ChunkPhase chunks_of(const CollectInputs& inputs) {
  const run::JobKeys& keys = inputs.keys.run;
  return {"questions", inputs.phase, inputs.questions(), keys.chunk_size, keys.part};
}

/// One run of the job on this rank: the inputs, the model of this rank's group, and the loop over
/// the questions.
class CollectRun {
public:
  CollectRun(run::RunContext& run, const CollectKeys& keys)
      : run_(run),
        world_(run.topology.world()),
        inputs_(load_inputs(run, keys)),
        phase_(run, {keys.run, keys.rows.model, keys.rows.folder},
               {chunks_of(inputs_), "questions", kCollected, "collect", keys.num_paths}) {
    cluster::run_together(world_, [&] { encoder_.emplace(inputs_.encoder()); });
    if (keys.agents.thinks()) realign();
  }

  const CollectInputs& inputs() const { return inputs_; }
  const run::RowPhase& phase() const { return phase_; }

  /// Tokenizes all questions that have no result from an earlier attempt. The ranks share the work.
  /// Then sets the batch size, which depends on the sizes of the largest of these questions.
  /// Ranks:  collective over the world.
  void tokenize() {
    const auto tokenizing = run_.clock.enter("tokenize");
    QuestionTokens most;
    most.longest = rows::tokenize_pending(
        run_, phase_.chunks(), inputs_.rows.path(),
        [&](std::int64_t first, std::int64_t count, formats::LineProblems& problems) {
          std::int64_t longest = 0;
          for (const auto& question : inputs_.encode(first, count, *encoder_, problems)) {
            const QuestionTokens tokens = inputs_.tokens_of(question);
            longest = std::max(longest, tokens.longest);
            most.pages = std::max(most.pages, tokens.pages);
          }
          return longest;
        });
    most.pages = world_.all_reduce(most.pages, cluster::ReduceOp::max);
    choose_batch(most);
  }

  std::string memory_text() const { return phase_.memory_text(worker_->batch_size()); }

  /// Samples solutions of all questions, and computes the values of their steps. Returns false if a
  /// stop was requested before all questions were done.
  /// Ranks:  collective over the world.
  bool collect() { return phase_.run(*worker_); }

private:
  void choose_batch(const QuestionTokens& most) {
    lm::MemoryDemand demand = inputs_.demand(run_.device.kind, most);
    demand.matrices = inputs_.keys.rows.model.matrices;
    const bool is_auto = !inputs_.keys.batch_size;
    inputs_.generation.batch_size = phase_.choose_batch(demand, is_auto);
    cluster::run_together(world_, [&] {
      worker_.emplace(inputs_, *encoder_, phase_.group(), realignment_ ? &*realignment_ : nullptr);
    });
  }

  /// Computes the map from hidden states to input embeddings. Rank 0 writes it to the run
  /// directory.
  /// Ranks:  collective over the world.
  void realign() {
    const auto realigning = run_.clock.enter("realign");
    realignment_.emplace(
        lm::Realignment::solve(phase_.group().model(), inputs_.keys.agents.realigns));
    cluster::run_together(world_, [&] {
      if (world_.rank() == 0) write_realignment(run_.directory.path(), *realignment_);
    });
  }

  run::RunContext& run_;
  const cluster::Group& world_;
  CollectInputs inputs_;
  run::RowPhase phase_;
  std::optional<QuestionEncoder> encoder_;
  std::optional<lm::Realignment> realignment_;
  std::optional<CollectWorker> worker_;
};

void print_banner(run::RunContext& run, const CollectInputs& inputs, std::string memory) {
  report::BannerFacts facts;
  facts.memory = std::move(memory);
  facts.device = run.device.kind;
  facts.data = report::counted(inputs.questions(), "question") + "; " +
               cluster::on_rank_0(run.topology.world(),
                                  [&] { return rows::describe_model(inputs.folder, run.models); }) +
               run::groups_text(inputs.keys.rows.model) + "; " + collecting_text(inputs.keys) +
               run::part_note(inputs.keys.run);
  run.print_banner(facts);
  rows::log_head_note(run, inputs);
}

void seal_questions(run::RunContext& run, const CollectInputs& inputs) {
  const auto sealing = run.clock.enter("seal");
  store::seal(run.topology.world(), run.journal,
              collect_request({run.config, run.store, run.directory}, inputs));
  run::log_part(run, inputs.keys.run);
}

}  // namespace

JobSpec collect_job() {
  return {.name = "collect",
          .text = "solutions of questions, with a value for each of their steps",
          .keys = {rows::add_model_folder_keys, lm::add_model_group_keys, add_data_path_key,
                   input::add_input_keys, datasets::add_dataset_keys, rows::add_chat_template_key,
                   rows::add_keep_columns_key, add_collect_keys, add_pt_key},
          .check = [](const Config& config, int /*ranks*/) { check_collect_keys(config); },
          .read = [](const Config& config) -> std::unique_ptr<Job> {
            return std::make_unique<CollectJob>(config);
          },
          .auto_chunk_size =
              [](const Config& config) {
                const CollectKeys keys = read_collect_keys(config);
                return rows::auto_chunk_size(keys.rows, keys.num_paths);
              },
          .errors = kCollectErrors,
          .exports = {{"trl", "", "stepwise.jsonl", export_stepwise},
                      {"pt", "", "prm_data", export_pt}},
          .has_parts = true};
}

run::JobOutcome CollectJob::run(run::RunContext& run) const {
  CollectRun job(run, keys_);
  job.tokenize();
  print_banner(run, job.inputs(), job.memory_text());
  run::log_suspects(run, job.phase().chunks());
  if (!job.collect()) return job.phase().outcome(ExitCode::stopped);

  seal_questions(run, job.inputs());
  run::JobOutcome outcome = job.phase().outcome(ExitCode::done);
  outcome.inputs = rows::checksums_of(job.inputs());
  add_collect_results(run, job.inputs(), job.phase().work_of_groups(), outcome);
  run::add_quarantined(run, job.phase().chunks(), outcome);
  return outcome;
}

run::MergedRun CollectJob::merge(const cluster::Group& world, const run::SealPlace& place,
                                 const store::ChunkJournal& journal) const {
  const CollectInputs inputs = read_collect_inputs(world, config_, keys_);
  rows::require_recorded_inputs(world, place.directory, inputs);
  store::SealRequest request = collect_request(place, inputs);
  request.partial = true;
  const store::SealResult report = store::seal(world, journal, request);
  run::MergedRun merged;
  merged.parts.push_back({"questions", report.rows, report.rows + report.missing_rows, "samples"});
  return merged;
}

}  // namespace mgpu::jobs
