#include "generate_run.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/context.hpp>
#include <mgpu/rows/pending_rows.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/run/model_memory.hpp>

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

/// Returns the keys that divide the reference model among the ranks of a group. These are the keys
/// of model.path, with one exception. If model.device_map lists layers, the layers of the reference
/// model are divided equally instead, because the list is only for model.path.
run::ModelKeys reference_model_keys(run::ModelKeys keys) {
  if (keys.plan.layers.kind == lm::LayerMap::Kind::manual) keys.plan.layers = {};
  return keys;
}

}  // namespace

GenerateRun::GenerateRun(run::RunContext& run, const GenerateKeys& keys)
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
    reference_.emplace(run::open_model(run, reference_model_keys(keys.rows.model), keys.reference));
  if (records_offsets()) guide_->keep_offsets(offsets_);
}

void GenerateRun::tokenize() {
  const auto tokenizing = run_.clock.enter("tokenize");
  const std::int64_t longest = rows::tokenize_pending(
      run_, phase_.chunks(), inputs_.rows.path(),
      [this](std::int64_t first, std::int64_t count, formats::LineProblems& problems) {
        return longest_prompt(first, count, problems);
      });
  cluster::run_together(world_, [&] {
    if (rewards_) rewards_->check_started();
  });
  warn_of_long_prompts(world_.all_reduce(beyond_context_));
  choose_batch(longest);
}

std::string GenerateRun::memory_text() const {
  std::string text = phase_.memory_text(worker_->batch_size());
  if (!inputs_.guide) return text;
  const std::int64_t bytes = guide_weights(*inputs_.guide, demand_);
  return text + "; weights of the guide " + report::bytes_text(static_cast<std::uint64_t>(bytes));
}

/// Returns the object with which the ranks of a node share the weights of models that judge
/// completions. If RunContext::models is nullptr, the first call makes this object.
/// Ranks: collective over the ranks of the node.
lm::ResidentModels* GenerateRun::judging_models() {
  if (run_.models != nullptr) return run_.models;
  if (!own_models_) own_models_ = std::make_unique<lm::ResidentModels>(run_.topology.node());
  return own_models_.get();
}

/// Opens the rewards of reward.functions on the ranks that record results. Call it before
/// choose_batch(), because the batch size depends on the memory that a reward model leaves free.
void GenerateRun::open_rewards() {
  rewards::RewardSettings settings = inputs_.keys.rewards;
  if (!settings.is_given()) return;
  settings.warn = [&log = run_.log](const std::string& text) {
    log.event({"warn", {{"text", text}}});
  };
  const auto loading = run_.clock.enter("load");
  lm::ResidentModels* models = settings.has_model() ? judging_models() : nullptr;
  cluster::run_together(world_, [&] {
    if (!phase_.group().is_leader()) return;
    rewards_.emplace(rows::open_rewards(settings, run_.device, models));
    const std::vector<std::uint64_t> done = run_.journal.done(phase_.chunks().id);
    if (!run::pending_chunks(phase_.chunks(), done).empty()) rewards_->start();
  });
}

/// Opens the model that scores completions for generate.search, on the ranks that record results.
void GenerateRun::open_search() {
  if (!inputs_.keys.search) return;
  const auto loading = run_.clock.enter("load");
  lm::ResidentModels* models = judging_models();
  cluster::run_together(world_, [&] {
    if (phase_.group().is_leader())
      scorer_ = open_scorer(*inputs_.keys.search, *encoder_, inputs_.folder, run_.device, models);
  });
}

/// Opens the value model on every rank. Only the ranks that have the vocabulary head of the guided
/// model use the value model.
void GenerateRun::open_guide(const GuideKeys& keys) {
  const auto loading = run_.clock.enter("load");
  const rows::ModelRowKeys& rows = inputs_.keys.rows;
  values_.emplace(lm::ValueModel::open(
      keys.folder, run_.topology,
      {.load = {.matrices = rows.model.matrices}, .device = run_.device, .resident = run_.models}));
  cluster::run_together(world_, [&] { guide_.emplace(*values_, keys.settings); });
  inputs_.config.generation.processors.candidate = &*guide_;
}

/// Returns how many bytes the guide and the reference need on this rank for a batch, in addition
/// to their weights.
std::int64_t GenerateRun::other_bytes(const lm::MemoryDemand& demand) {
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

void GenerateRun::choose_batch(std::int64_t longest) {
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

/// Logs one warning if `count` prompts are completed although they are longer than the model's
/// context.
void GenerateRun::warn_of_long_prompts(std::int64_t count) {
  if (inputs_.keys.beyond_context != BeyondContext::warn) return;
  const std::string warning = rows::beyond_context_warning(
      count, rows::context_of(inputs_.model),
      "generate.beyond_context=mark leaves them out, =stop lists them");
  if (!warning.empty()) run_.log.event({"warn", {{"text", warning}}});
}

/// Encodes `count` prompts from row `first` on. Returns the number of tokens of the longest prompt
/// that can be used. Also counts the prompts that are longer than the context.
std::int64_t GenerateRun::longest_prompt(std::int64_t first, std::int64_t count,
                                         formats::LineProblems& problems) {
  std::int64_t longest = 0;
  for (const auto& prompt : inputs_.encode(first, count, *encoder_, problems)) {
    const std::int64_t tokens = std::ssize(prompt.ids);
    const std::int64_t context = rows::context_of(inputs_.model);
    if (context > 0 && tokens > context) ++beyond_context_;
    if (prompt.facts.status == rows::RowStatus::ok) longest = std::max(longest, tokens);
  }
  return longest;
}

}  // namespace mgpu::jobs
