#include "job.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/input/row_options.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/context.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/kept_columns.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/reward_model.hpp>
#include <mgpu/rows/row_problems.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/model_memory.hpp>
#include <mgpu/run/quarantined_rows.hpp>
#include <mgpu/run/row_phase.hpp>

#include "comparison.hpp"
#include "inputs.hpp"
#include "other_models.hpp"
#include "pairs.hpp"
#include "results.hpp"
#include "work.hpp"

namespace mgpu::jobs {
namespace {

GenerateInputs load_inputs(const run::RunContext& run, const GenerateKeys& keys) {
  const auto loading = run.clock.enter("load");
  GenerateInputs inputs = read_generate_inputs(run.topology.world(), run.config, keys, run.models);
  rows::record_inputs(run, inputs);
  return inputs;
}

run::ChunkPhase chunks_of(const GenerateInputs& inputs) {
  const run::JobKeys& keys = inputs.keys.run;
  return {"completions", inputs.phase, inputs.prompts(), keys.chunk_size, keys.part};
}

/// Returns the keys that split the reference model. It is split like the model. But if
/// model.device_map lists the model's layers, the reference model's layers are divided equally.
run::ModelKeys reference_model_keys(run::ModelKeys keys) {
  if (keys.plan.layers.kind == lm::LayerMap::Kind::manual) keys.plan.layers = {};
  return keys;
}

/// Holds the inputs on every rank, the model of this rank's group, and the loop over the prompts.
class GenerateRun {
public:
  GenerateRun(run::RunContext& run, const GenerateKeys& keys)
      : run_(run),
        world_(run.topology.world()),
        inputs_(load_inputs(run, keys)),
        phase_(
            run, {keys.run, keys.rows.model, keys.rows.folder},
            {chunks_of(inputs_), "prompts", kCompletions, "generate", inputs_.config.num_samples}) {
    if (keys.guide) open_guide(*keys.guide);
    cluster::run_together(world_, [&] { encoder_.emplace(inputs_.encoder()); });
    open_rewards();
    open_search();
    if (keys.has_reference())
      reference_.emplace(
          run::open_model(run, reference_model_keys(keys.rows.model), keys.reference));
    if (records_offsets()) guide_->keep_offsets(offsets_);
  }

  const GenerateInputs& inputs() const { return inputs_; }
  const run::RowPhase& phase() const { return phase_; }

  /// Tokenizes all prompts that have no result from an earlier attempt. This happens before the
  /// model runs, and the ranks share the work. Then sets the batch size, which depends on the
  /// longest prompt.
  void tokenize() {
    const auto tokenizing = run_.clock.enter("tokenize");
    const auto pending =
        run::pending_chunks(phase_.chunks(), run_.journal.done(phase_.chunks().id));
    formats::LineProblems mine(inputs_.rows.path());
    std::int64_t longest = 0;
    cluster::run_together(world_, [&] {
      for (const run::Chunk& chunk : run::static_share(pending, world_.rank(), world_.size()))
        longest = std::max(longest, longest_of(chunk, mine));
    });
    const formats::LineProblems all = rows::gather_problems(world_, inputs_.rows.path(), mine);
    cluster::run_together(world_, [&] { all.throw_if_any(input::kBadRowHelp); });
    warn_of_long_prompts(world_.all_reduce(beyond_context_));
    choose_batch(world_.all_reduce(longest, cluster::ReduceOp::max));
  }

  std::string memory_text() const {
    std::string text = phase_.memory_text(worker_->batch_size());
    if (!inputs_.guide) return text;
    const std::int64_t bytes = guide_weights(*inputs_.guide, demand_);
    return text + "; weights of the guide " + report::bytes_text(static_cast<std::uint64_t>(bytes));
  }

  /// Returns whether all prompts are complete; false means that a stop was requested.
  bool generate() { return phase_.run(*worker_); }

private:
  /// Returns where the ranks of a node share the weights of models that judge completions.
  lm::ResidentModels* judging_models() {
    if (run_.models != nullptr) return run_.models;
    if (!own_models_) own_models_ = std::make_unique<lm::ResidentModels>(run_.topology.node());
    return own_models_.get();
  }

  /// Makes the rewards on the ranks that record results. A reward model is opened before the batch
  /// size is chosen, which depends on the free memory.
  void open_rewards() {
    const rewards::RewardSettings& settings = inputs_.keys.rewards;
    if (!settings.is_given()) return;
    const auto loading = run_.clock.enter("load");
    lm::ResidentModels* models = settings.has_model() ? judging_models() : nullptr;
    cluster::run_together(world_, [&] {
      if (phase_.group().is_leader())
        rewards_.emplace(rows::open_rewards(settings, run_.device, models));
    });
  }

  /// Opens the model that scores completions, on the ranks that record results.
  void open_search() {
    if (!inputs_.keys.search) return;
    const auto loading = run_.clock.enter("load");
    lm::ResidentModels* models = judging_models();
    cluster::run_together(world_, [&] {
      if (phase_.group().is_leader())
        scorer_ = open_scorer(*inputs_.keys.search, *encoder_, inputs_.folder, run_.device, models);
    });
  }

  /// Opens the value model on every rank. Only the ranks with the head of the guided model use it.
  void open_guide(const GuideKeys& keys) {
    const auto loading = run_.clock.enter("load");
    const rows::ModelRowKeys& rows = inputs_.keys.rows;
    values_.emplace(lm::ValueModel::open(keys.folder, run_.topology,
                                         {.load = {.matrices = rows.model.matrices},
                                          .device = run_.device,
                                          .resident = run_.models}));
    cluster::run_together(world_, [&] { guide_.emplace(*values_, keys.settings); });
    inputs_.config.generation.processors.candidate = &*guide_;
  }

  /// Returns how many bytes the guide and the reference need on this rank for a batch, in addition
  /// to their weights.
  std::int64_t other_bytes(const lm::MemoryDemand& demand) {
    std::int64_t bytes = 0;
    if (guide_ && phase_.group().model().shard().has_head)
      bytes += guide_batch_bytes(*inputs_.guide, guide_->candidates(), demand);
    const auto part_of = [](const lm::ModelGroup& group) {
      return ModelPart{group.model().config(), group.model().shard(), group.size()};
    };
    if (reference_)
      bytes += divergence_batch_bytes(part_of(phase_.group()), part_of(*reference_),
                                      inputs_.keys.max_new_tokens, demand);
    return bytes;
  }

  /// Returns whether the KL from a reference needs the offsets of the draws.
  bool records_offsets() const { return guide_ && reference_; }

  void choose_batch(std::int64_t longest) {
    if (inputs_.guide)
      cluster::run_together(world_, [&] {
        check_guide_positions(run_.config, *inputs_.guide, inputs_.model,
                              {longest, inputs_.keys.max_new_tokens});
      });
    demand_ = inputs_.demand(run_.device.kind, longest);
    demand_.matrices = inputs_.keys.rows.model.matrices;
    if (guide_ || reference_)
      demand_.others = [this](const lm::MemoryDemand& demand) { return other_bytes(demand); };
    const std::int64_t batch = phase_.choose_batch(demand_, inputs_.config.has_auto_batch);
    if (inputs_.config.has_auto_batch) inputs_.config.generation.batch_size = batch;
    cluster::run_together(world_, [&] {
      worker_.emplace(inputs_, *encoder_, phase_.group(),
                      CompletionJudges{reference_ ? &*reference_ : nullptr,
                                       records_offsets() ? &offsets_ : nullptr,
                                       rewards_ ? &*rewards_ : nullptr, scorer_.get()},
                      run_.scalars);
    });
  }

  /// Warns once of prompts that are completed although they are longer than the model's context.
  void warn_of_long_prompts(std::int64_t count) {
    if (inputs_.keys.beyond_context != BeyondContext::warn) return;
    const std::string warning = rows::beyond_context_warning(
        count, rows::context_of(inputs_.model),
        "generate.beyond_context=mark leaves them out, =stop lists them");
    if (!warning.empty()) run_.log.event({"warn", {{"text", warning}}});
  }

  /// Returns the number of tokens of the chunk's longest prompt. Quarantined rows are skipped.
  std::int64_t longest_of(const run::Chunk& chunk, formats::LineProblems& problems) {
    std::int64_t longest = 0;
    run::work_on_rows(
        run_, phase_.chunks(), chunk,
        {[&](std::int64_t first, std::int64_t count) {
           for (const auto& prompt : inputs_.encode(first, count, *encoder_, problems)) {
             const std::int64_t tokens = std::ssize(prompt.ids);
             const std::int64_t context = rows::context_of(inputs_.model);
             if (context > 0 && tokens > context) ++beyond_context_;
             if (prompt.facts.status == rows::RowStatus::ok) longest = std::max(longest, tokens);
           }
         },
         [](std::int64_t, const std::string&) {}});
    return longest;
  }

  run::RunContext& run_;
  const cluster::Group& world_;
  GenerateInputs inputs_;
  run::RowPhase phase_;
  std::optional<rows::PromptEncoder> encoder_;
  std::unique_ptr<lm::ResidentModels> own_models_;   // nullptr: those of the run, or none
  std::optional<rewards::WeightedRewards> rewards_;  // of reward.functions, on leaders
  std::unique_ptr<CompletionScorer> scorer_;         // of generate.search, on leaders
  std::optional<lm::ModelGroup> reference_;          // of generate.reference
  std::optional<lm::ValueModel> values_;             // of generate.guide.path
  lm::OffsetRecord offsets_;                         // of the guide's draws in a chunk
  std::optional<lm::ValueGuide> guide_;              // uses values_ and offsets_
  std::optional<CompletionWorker> worker_;
  lm::MemoryDemand demand_;
  std::int64_t beyond_context_ = 0;  // prompts of this rank that are longer than the context
};

void print_banner(run::RunContext& run, const GenerateInputs& inputs, std::string memory) {
  report::BannerFacts facts;
  facts.memory = std::move(memory);
  facts.device = run.device.kind;
  facts.data = report::grouped(inputs.prompts()) + " prompts";
  if (inputs.config.num_samples > 1)
    facts.data += ", " + report::grouped(inputs.config.num_samples) + " completions each";
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
