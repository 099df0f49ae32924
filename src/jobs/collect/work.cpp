#include "work.hpp"

#include "collector.hpp"
#include "latent_collector.hpp"
#include "table.hpp"
#include "text_agents.hpp"

namespace mgpu::jobs {
namespace {

std::unique_ptr<QuestionCollector> make_collector(const CollectInputs& inputs,
                                                  const QuestionEncoder& encoder,
                                                  const lm::LanguageModel& model,
                                                  const lm::Realignment* realignment) {
  const AgentKeys& agents = inputs.keys.agents;
  if (agents.thinks())
    return std::make_unique<LatentCollector>(model, *realignment, encoder, inputs);
  if (agents.is_used) return std::make_unique<TextAgentCollector>(model, encoder, inputs);
  return std::make_unique<Collector>(model, encoder, inputs);
}

}  // namespace

CollectWorker::CollectWorker(const CollectInputs& inputs, QuestionEncoder& encoder,
                             const lm::ModelGroup& group, const lm::Realignment* realignment)
    : inputs_(inputs),
      encoder_(encoder),
      group_(group),
      collector_(make_collector(inputs, encoder, group.model(), realignment)) {}

/// Encodes rows. CollectRun::tokenize() has already encoded these rows. With data.on_bad_row=stop,
/// it has ended the run if a row cannot be used, so this function does not throw.
std::vector<Question> CollectWorker::encode(std::int64_t first, std::int64_t count) {
  formats::LineProblems problems(inputs_.rows.path());
  std::vector<Question> questions = inputs_.encode(first, count, encoder_, problems);
  problems.throw_if_any(input::kBadRowHelp);
  return questions;
}

std::vector<CollectedQuestion> CollectWorker::work(std::span<const Question> questions,
                                                   std::int64_t first) {
  return collector_->run(questions, first);
}

std::pair<Question, CollectedQuestion> CollectWorker::left_out(const std::string& reason) {
  Question question;
  question.facts = {rows::RowStatus::bad_row, reason};
  return {question, {}};
}

run::RowTokens CollectWorker::tokens(const Question& question,
                                     const CollectedQuestion& collected) const {
  run::RowTokens tokens{std::ssize(question.ids), collected.rollout_tokens};
  for (const Solution& path : collected.paths)
    tokens.output += std::ssize(path.completion.ids);
  return tokens;
}

std::vector<std::byte> CollectWorker::pack(std::int64_t first, std::span<const Question> questions,
                                           std::span<const CollectedQuestion> collected) {
  return question_rows(inputs_, first, questions, collected);
}

}  // namespace mgpu::jobs
