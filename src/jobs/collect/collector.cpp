#include "collector.hpp"

#include <utility>

namespace mgpu::jobs {
namespace {

// Bits of a random stream, from the lowest: rollout, step, path, question. The highest bit is that
// of rollouts. The limits of the keys collect.rollouts, max_steps and num_paths are these.
constexpr unsigned kRolloutBits = 10;
constexpr unsigned kStepBits = 12;
constexpr unsigned kPathBits = 12;
constexpr unsigned kQuestionBits = 29;

}  // namespace

std::vector<PathAnswers> CollectedQuestion::answers() const {
  std::vector<PathAnswers> answers;
  for (const CollectedPath& path : paths)
    answers.push_back({path.answer.is_right, path.right_rollouts});
  return answers;
}

Collector::Collector(const lm::LanguageModel& model, const rows::PromptEncoder& encoder,
                     const CollectInputs& inputs)
    : inputs_(inputs),
      encoder_(encoder),
      judge_(inputs.keys.rows, encoder),
      generator_(model, inputs.generation) {}

std::uint64_t Collector::sample_of_path(std::int64_t question, std::int64_t path) {
  constexpr std::uint64_t kQuestions = (std::uint64_t{1} << kQuestionBits) - 1;
  return ((static_cast<std::uint64_t>(question) & kQuestions) << kPathBits) |
         static_cast<std::uint64_t>(path);
}

std::uint64_t Collector::sample_of_rollouts(std::int64_t question, std::int64_t path,
                                            std::int64_t step) {
  const std::uint64_t of_path = sample_of_path(question, path);
  return (std::uint64_t{1} << 63) |
         (((of_path << kStepBits) | static_cast<std::uint64_t>(step)) << kRolloutBits);
}

std::vector<CollectedQuestion> Collector::run(std::span<const rows::EncodedPrompt> questions,
                                              std::int64_t first) {
  std::vector<CollectedQuestion> collected(questions.size());
  draw_paths(questions, first, collected);
  draw_rollouts(questions, first, collected);
  return collected;
}

void Collector::draw_paths(std::span<const rows::EncodedPrompt> questions, std::int64_t first,
                           std::vector<CollectedQuestion>& collected) {
  std::vector<lm::Prompt> prompts;
  std::vector<std::size_t> places;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    if (questions[q].facts.status != rows::RowStatus::ok) continue;
    const std::int64_t index = inputs_.question_of(first + static_cast<std::int64_t>(q));
    prompts.push_back({sample_of_path(index, 0), questions[q].ids, inputs_.keys.num_paths});
    places.push_back(q);
  }
  if (prompts.empty()) return;
  generator_.set_progress({});
  std::vector<lm::PromptResult> results = generator_.run(prompts);
  for (std::size_t p = 0; p < prompts.size(); ++p) {
    const std::size_t q = places[p];
    const std::int64_t index = inputs_.question_of(first + static_cast<std::int64_t>(q));
    for (lm::Completion& completion : results[p].completions)
      add_path(questions[q], index, std::move(completion), collected[q]);
  }
}

void Collector::add_path(const rows::EncodedPrompt& question, std::int64_t index,
                         lm::Completion completion, CollectedQuestion& collected) const {
  CollectedPath path;
  path.steps = split_into_steps(completion.ids, inputs_.rule(), encoder_.tokenizer());
  path.answer = judge_.judge(index, question.answer, completion.ids);
  path.right_rollouts.assign(path.steps.size() - 1, 0);
  path.completion = std::move(completion);
  collected.paths.push_back(std::move(path));
}

std::vector<Collector::Branch> Collector::branches_of(
    std::span<const rows::EncodedPrompt> questions,
    const std::vector<CollectedQuestion>& collected) const {
  std::vector<Branch> branches;
  for (std::size_t q = 0; q < collected.size(); ++q)
    for (std::size_t p = 0; p < collected[q].paths.size(); ++p) {
      const CollectedPath& path = collected[q].paths[p];
      for (std::size_t s = 0; s + 1 < path.steps.size(); ++s) {
        Branch branch{q, p, s, questions[q].ids};
        branch.begun = static_cast<std::int64_t>(path.steps[s].first + path.steps[s].count);
        const auto begin = path.completion.ids.begin();
        branch.ids.insert(branch.ids.end(), begin, begin + branch.begun);
        branches.push_back(std::move(branch));
      }
    }
  return branches;
}

void Collector::draw_rollouts(std::span<const rows::EncodedPrompt> questions, std::int64_t first,
                              std::vector<CollectedQuestion>& collected) {
  const std::vector<Branch> branches = branches_of(questions, collected);
  if (branches.empty()) return;
  const auto index_of = [&](const Branch& branch) {
    return inputs_.question_of(first + static_cast<std::int64_t>(branch.question));
  };
  std::vector<lm::Prompt> prompts;
  for (const Branch& branch : branches)
    prompts.push_back({sample_of_rollouts(index_of(branch), static_cast<std::int64_t>(branch.path),
                                          static_cast<std::int64_t>(branch.step)),
                       branch.ids,
                       inputs_.keys.rollouts,
                       {},
                       branch.begun});
  const std::int64_t all = std::ssize(branches) * inputs_.keys.rollouts;
  const std::int64_t paths = std::ssize(questions) * inputs_.keys.num_paths;
  generator_.set_progress([&](std::int64_t ended) {
    if (see_progress_) see_progress_(paths * ended / all);
  });
  const std::vector<lm::PromptResult> results = generator_.run(prompts);
  generator_.set_progress({});
  for (std::size_t b = 0; b < branches.size(); ++b) {
    CollectedQuestion& question = collected[branches[b].question];
    question.paths[branches[b].path].right_rollouts[branches[b].step] = count_right(
        branches[b], questions[branches[b].question], index_of(branches[b]), results[b]);
    for (const lm::Completion& completion : results[b].completions)
      question.rollout_tokens += std::ssize(completion.ids);
  }
}

/// Returns how many rollouts of the step give the right answer.
std::int32_t Collector::count_right(const Branch& branch, const rows::EncodedPrompt& question,
                                    std::int64_t index, const lm::PromptResult& result) const {
  std::int32_t right = 0;
  for (const lm::Completion& completion : result.completions) {
    std::vector<std::int64_t> ids(branch.ids.end() - branch.begun, branch.ids.end());
    ids.insert(ids.end(), completion.ids.begin(), completion.ids.end());
    right += judge_.judge(index, question.answer, ids).is_right ? 1 : 0;
  }
  return right;
}

}  // namespace mgpu::jobs
