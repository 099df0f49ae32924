#include "inputs.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/rows/context.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/run/phases.hpp>

#include "tree_pages.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::int64_t kQuestionsAtOnce = 64;
constexpr std::uint64_t kMaxAgentsBytes = std::uint64_t{16} << 20;

lm::GenerationConfig generation_of(const CollectKeys& keys, const lm::GenerationDefaults& folder) {
  lm::GenerationConfig generation;
  generation.sampling.is_greedy = false;
  generation.sampling.temperature = keys.temperature;
  generation.sampling.top_k = keys.top_k;
  generation.sampling.top_p = keys.top_p;
  generation.sampling.seed = keys.run.seed;
  generation.max_new_tokens = keys.max_new_tokens;
  generation.stop_ids = folder.eos_ids;
  generation.cache_type = keys.cache_type;
  if (keys.batch_size) generation.batch_size = *keys.batch_size;
  return generation;
}

std::string agents_file(const AgentKeys& keys) {
  return keys.path.empty() ? "" : read_file(keys.path, kMaxAgentsBytes);
}

/// Adds the agents to `inputs`. If collect.agents.path names a file, also adds the checksum of the
/// file to CollectInputs::inputs and CollectInputs::phase. `file` is the content of that file.
void add_agents_of_file(const AgentKeys& keys, const std::string& file, CollectInputs& inputs) {
  if (keys.path.empty()) {
    inputs.agents = default_agents();
    return;
  }
  inputs.agents = parse_agents(keys.path, file, keys);
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(file)));
  inputs.inputs["collect.agents.path"] = rows::checksum_text(crc);
  const std::array crcs{inputs.crc, crc};
  inputs.phase = run::phase_of(crc32c(std::as_bytes(std::span(crcs))));
}

CollectInputs put_together(const CollectKeys& keys, rows::ModelRows read,
                           const std::string& agents) {
  CollectInputs inputs{std::move(read)};
  inputs.keys = keys;
  inputs.generation = generation_of(keys, inputs.model.generation);
  inputs.phase = run::phase_of(inputs.crc);
  if (keys.agents.is_used) add_agents_of_file(keys.agents, agents, inputs);
  return inputs;
}

/// Gives a question the status too_long if it has more than `longest` tokens before the text that
/// the model draws (Question::longest). If `longest` is 0, there is no limit.
void refuse_long_question(std::int64_t longest, Question& question) {
  if (longest == 0 || question.longest <= longest) return;
  question.facts.status = rows::RowStatus::too_long;
  question.facts.reason = rows::beyond_context_text(question.longest, longest);
}

}  // namespace

std::int64_t CollectInputs::longest_question() const {
  return model.rope.kind == lm::RopeKind::none ? model.max_positions : rows::context_of(model);
}

QuestionEncoder CollectInputs::encoder() const {
  const bool has_agents = keys.agents.is_used;
  if (has_agents && !text) rows::refuse_absent_tokenizer(folder, "collect.steps=latent");
  if (keys.splits_lines && !text) rows::refuse_absent_tokenizer(folder, "collect.split=line");
  rows::PromptEncoder::Options options;
  options.vocab = model.vocab;
  std::optional<AgentEncoder> encoder;
  if (has_agents)
    encoder.emplace(*rows::parse_tokenizer_files(text, folder, model.vocab),
                    AgentEncoder::Options{keys.agents, agents, keys.max_new_tokens});
  return {rows::PromptEncoder(text, folder, options), std::move(encoder)};
}

std::vector<Question> CollectInputs::encode(std::int64_t first, std::int64_t count,
                                            QuestionEncoder& encoder,
                                            formats::LineProblems& problems) const {
  std::vector<Question> questions;
  for (const input::Row& row : rows.read(first, count)) {
    questions.push_back(encoder.question(row));
    Question& question = questions.back();
    question.facts.kept = kept.values_of(row);
    if (row.problem.empty()) question.answer = rows::answer_of(row.object);
    if (question.facts.status == rows::RowStatus::ok)
      refuse_long_question(longest_question(), question);
    if (!question.facts.reason.empty() && row_options.on_bad_row == input::BadRow::stop)
      problems.add(row.line, question.facts.reason);
  }
  return questions;
}

QuestionTokens CollectInputs::tokens_of(const Question& question) const {
  if (question.facts.status != rows::RowStatus::ok) return {};
  QuestionTokens tokens{std::ssize(question.ids), question.longest};
  if (keys.agents.thinks())
    tokens.pages = tree_pages(question.agents, keys, generation.page_tokens);
  return tokens;
}

lm::MemoryDemand CollectInputs::demand(DeviceKind device, const QuestionTokens& most) const {
  run::RowCounts rollouts = counts();
  if (!keys.agents.is_used)
    rollouts.results_per_row *= keys.rollouts;  // counts the rollouts of one step of each path
  lm::MemoryDemand demand;
  demand.batch_size = run::most_at_once(rollouts, keys.batch_size.value_or(0), device);
  if (keys.agents.thinks()) {  // all paths of a question are in memory at once
    demand.batch_size = std::max(demand.batch_size, keys.num_paths);
    demand.tree_paths = keys.num_paths;
    demand.tree_pages = most.pages;
  }
  demand.longest = most.longest + keys.max_new_tokens - 1;
  demand.prefill_tokens = generation.prefill_tokens;
  demand.page_tokens = generation.page_tokens;
  demand.cache_type = generation.cache_type;
  demand.logit_copies = lm::logit_copies(generation.sampling);
  demand.has_samples = true;
  return demand;
}

CollectInputs read_collect_inputs(const cluster::Group& world, const Config& config,
                                  const CollectKeys& keys, lm::ResidentModels* models) {
  rows::ModelRows read = rows::read_model_rows(world, config, keys.rows, models);
  const std::string agents = cluster::on_rank_0(world, [&] { return agents_file(keys.agents); });
  std::optional<CollectInputs> inputs;
  cluster::run_together(world,
                        [&] { inputs.emplace(put_together(keys, std::move(read), agents)); });
  return std::move(*inputs);
}

CollectInputs read_collect_inputs(const Config& config, const CollectKeys& keys) {
  return put_together(keys, rows::read_model_rows(config, keys.rows), agents_file(keys.agents));
}

std::vector<Agent> read_agents(const AgentKeys& keys) {
  if (keys.path.empty()) return default_agents();
  return parse_agents(keys.path, agents_file(keys), keys);
}

std::vector<QuestionTokens> count_question_tokens(const CollectInputs& inputs) {
  QuestionEncoder encoder = inputs.encoder();
  formats::LineProblems problems(inputs.rows.path());
  std::vector<QuestionTokens> counts;
  for (std::int64_t first = 0; first < inputs.questions(); first += kQuestionsAtOnce) {
    const std::int64_t count = std::min(kQuestionsAtOnce, inputs.questions() - first);
    for (const Question& question : inputs.encode(first, count, encoder, problems))
      counts.push_back(inputs.tokens_of(question));
  }
  problems.throw_if_any(input::kBadRowHelp);
  return counts;
}

}  // namespace mgpu::jobs
