#include "work.hpp"

#include "table.hpp"

namespace mgpu::jobs {

CollectWorker::CollectWorker(const CollectInputs& inputs, rows::PromptEncoder& encoder,
                             const lm::ModelGroup& group)
    : inputs_(inputs),
      encoder_(encoder),
      group_(group),
      collector_(group.model(), encoder, inputs) {}

/// Encodes rows. CollectRun has already checked all questions, so no row ends the run here.
std::vector<rows::EncodedPrompt> CollectWorker::encode(std::int64_t first, std::int64_t count) {
  formats::LineProblems problems(inputs_.rows.path());
  std::vector<rows::EncodedPrompt> questions = inputs_.encode(first, count, encoder_, problems);
  problems.throw_if_any(input::kBadRowHelp);
  return questions;
}

std::vector<CollectedQuestion> CollectWorker::work(std::span<const rows::EncodedPrompt> questions,
                                                   std::int64_t first) {
  return collector_.run(questions, first);
}

std::pair<rows::EncodedPrompt, CollectedQuestion> CollectWorker::left_out(
    const std::string& reason) {
  rows::EncodedPrompt question;
  question.facts = {rows::RowStatus::bad_row, reason};
  return {question, {}};
}

run::RowTokens CollectWorker::tokens(const rows::EncodedPrompt& question,
                                     const CollectedQuestion& collected) const {
  run::RowTokens tokens{std::ssize(question.ids), collected.rollout_tokens};
  for (const Solution& path : collected.paths)
    tokens.output += std::ssize(path.completion.ids);
  return tokens;
}

std::vector<std::byte> CollectWorker::pack(std::int64_t first,
                                           std::span<const rows::EncodedPrompt> questions,
                                           std::span<const CollectedQuestion> collected) {
  return question_rows(inputs_, first, questions, collected);
}

}  // namespace mgpu::jobs
