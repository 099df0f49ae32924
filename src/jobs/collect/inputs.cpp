#include "inputs.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/rows/context.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/phases.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kQuestionsAtOnce = 64;

lm::GenerationConfig generation_of(const CollectKeys& keys, const lm::GenerationDefaults& folder) {
  lm::GenerationConfig generation;
  generation.sampling.is_greedy = false;
  generation.sampling.temperature = keys.temperature;
  generation.sampling.top_k = keys.top_k;
  generation.sampling.top_p = keys.top_p;
  generation.sampling.seed = keys.run.seed;
  generation.max_new_tokens = keys.max_new_tokens;
  generation.stop_ids = folder.eos_ids;
  if (keys.batch_size) generation.batch_size = *keys.batch_size;
  return generation;
}

CollectInputs put_together(const CollectKeys& keys, rows::ModelRows read) {
  CollectInputs inputs{std::move(read)};
  inputs.keys = keys;
  inputs.generation = generation_of(keys, inputs.model.generation);
  inputs.phase = run::phase_of(inputs.crc);
  return inputs;
}

/// Marks a question with more than `longest` tokens as one that cannot be used; 0: no limit.
void refuse_long_question(std::int64_t longest, rows::EncodedPrompt& question) {
  const std::int64_t tokens = std::ssize(question.ids);
  if (longest == 0 || tokens <= longest) return;
  question.facts.status = rows::RowStatus::too_long;
  question.facts.reason = rows::beyond_context_text(tokens, longest);
}

}  // namespace

std::int64_t CollectInputs::longest_question() const {
  return model.rope.kind == lm::RopeKind::none ? model.max_positions : rows::context_of(model);
}

rows::PromptEncoder CollectInputs::encoder() const {
  if (keys.splits_lines && !text) rows::refuse_absent_tokenizer(folder, "collect.split=line");
  rows::PromptEncoder::Options options;
  options.vocab = model.vocab;
  return {text, folder, options};
}

std::vector<rows::EncodedPrompt> CollectInputs::encode(std::int64_t first, std::int64_t count,
                                                       rows::PromptEncoder& encoder,
                                                       formats::LineProblems& problems) const {
  std::vector<rows::EncodedPrompt> questions;
  for (const input::Row& row : rows.read(first, count)) {
    questions.push_back(encoder.encode(row));
    rows::EncodedPrompt& question = questions.back();
    question.facts.kept = kept.values_of(row);
    if (row.problem.empty()) question.answer = rows::answer_of(row.object);
    if (question.facts.status == rows::RowStatus::ok)
      refuse_long_question(longest_question(), question);
    if (!question.facts.reason.empty() && row_options.on_bad_row == input::BadRow::stop)
      problems.add(row.line, question.facts.reason);
  }
  return questions;
}

lm::MemoryDemand CollectInputs::demand(DeviceKind device, std::int64_t longest) const {
  run::RowCounts rollouts = counts();
  rollouts.results_per_row *= keys.rollouts;  // rollouts of one step of each path
  lm::MemoryDemand demand;
  demand.batch_size = run::most_at_once(rollouts, keys.batch_size.value_or(0), device);
  demand.longest = longest + keys.max_new_tokens - 1;
  demand.prefill_tokens = generation.prefill_tokens;
  demand.page_tokens = generation.page_tokens;
  demand.logit_copies = lm::logit_copies(generation.sampling);
  demand.has_samples = true;
  return demand;
}

CollectInputs read_collect_inputs(const cluster::Group& world, const Config& config,
                                  const CollectKeys& keys, lm::ResidentModels* models) {
  rows::ModelRows read = rows::read_model_rows(world, config, keys.rows, models);
  std::optional<CollectInputs> inputs;
  cluster::run_together(world, [&] { inputs.emplace(put_together(keys, std::move(read))); });
  return std::move(*inputs);
}

CollectInputs read_collect_inputs(const Config& config, const CollectKeys& keys) {
  return put_together(keys, rows::read_model_rows(config, keys.rows));
}

std::vector<std::int64_t> count_question_tokens(const CollectInputs& inputs) {
  rows::PromptEncoder encoder = inputs.encoder();
  formats::LineProblems problems(inputs.rows.path());
  std::vector<std::int64_t> counts;
  for (std::int64_t first = 0; first < inputs.questions(); first += kQuestionsAtOnce) {
    const std::int64_t count = std::min(kQuestionsAtOnce, inputs.questions() - first);
    for (const rows::EncodedPrompt& question : inputs.encode(first, count, encoder, problems))
      counts.push_back(question.facts.status == rows::RowStatus::ok ? std::ssize(question.ids) : 0);
  }
  problems.throw_if_any(input::kBadRowHelp);
  return counts;
}

}  // namespace mgpu::jobs
