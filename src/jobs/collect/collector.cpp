#include "collector.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "omega_search.hpp"

namespace mgpu::jobs {
namespace {

// The stream number of a rollout has these fields, from the lowest bit: rollout, step, path,
// question. Its highest bit is 1. The stream number of a path has only path and question, and its
// highest bit is 0. The field widths limit collect.rollouts, collect.max_steps and
// collect.num_paths. With OmegaSearch, the fields step and path together are one field for
// Probe::number.
constexpr unsigned kRolloutBits = 10;
constexpr unsigned kStepBits = 12;
constexpr unsigned kPathBits = 12;
constexpr unsigned kQuestionBits = 29;

}  // namespace

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

std::uint64_t Collector::sample_of_state(std::int64_t question, std::int64_t number) {
  constexpr std::int64_t kSteps = std::int64_t{1} << kStepBits;
  return sample_of_rollouts(question, number / kSteps, number % kSteps);
}

std::int64_t Collector::index_of(std::size_t question) const {
  return inputs_.question_of(first_ + static_cast<std::int64_t>(question));
}

std::vector<CollectedQuestion> Collector::run(std::span<const Question> questions,
                                              std::int64_t first) {
  questions_ = questions;
  first_ = first;
  generator_.set_progress({});  // an earlier call that ran out of memory may have left its callback
  std::vector<CollectedQuestion> collected(questions.size());
  draw_paths(collected);
  if (inputs_.keys.label == StepLabel::omega_prm) {
    search(collected);
  } else {
    label_all_steps(collected);
  }
  return collected;
}

/// Judges a solution and splits it into steps.
Solution Collector::judged(std::size_t question, lm::Completion completion) const {
  Solution solution;
  solution.steps = rows::split_into_steps(completion.ids, inputs_.rule(), encoder_.tokenizer());
  solution.answer = judge_.judge(index_of(question), questions_[question].answer, completion.ids);
  solution.completion = std::move(completion);
  return solution;
}

void Collector::draw_paths(std::vector<CollectedQuestion>& collected) {
  std::vector<lm::Prompt> prompts;
  std::vector<std::size_t> places;
  for (std::size_t q = 0; q < questions_.size(); ++q) {
    if (questions_[q].facts.status != rows::RowStatus::ok) continue;
    prompts.push_back({sample_of_path(index_of(q), 0), questions_[q].ids, inputs_.keys.num_paths});
    places.push_back(q);
  }
  if (prompts.empty()) return;
  std::vector<lm::PromptResult> results = generator_.run(prompts);
  for (std::size_t p = 0; p < prompts.size(); ++p)
    for (lm::Completion& completion : results[p].completions)
      collected[places[p]].paths.push_back(judged(places[p], std::move(completion)));
}

/// Returns the solution that consists of the beginning and the rollout, with its judged answer.
Solution Collector::joined(const Beginning& beginning, lm::Completion rollout) const {
  const lm::Completion& of = beginning.solution->completion;
  lm::Completion whole{{of.ids.begin(), of.ids.begin() + beginning.tokens},
                       {of.log_probs.begin(), of.log_probs.begin() + beginning.tokens},
                       rollout.reason};
  whole.ids.insert(whole.ids.end(), rollout.ids.begin(), rollout.ids.end());
  whole.log_probs.insert(whole.log_probs.end(), rollout.log_probs.begin(), rollout.log_probs.end());
  return judged(beginning.question, std::move(whole));
}

/// Samples the rollouts of all beginnings in one call to the generator. Returns a list of complete
/// solutions for each beginning. Adds the numbers of rollouts and of their tokens to `collected`.
std::vector<std::vector<Solution>> Collector::complete(std::span<const Beginning> beginnings,
                                                       std::vector<CollectedQuestion>& collected) {
  std::vector<std::vector<std::int64_t>> ids;
  for (const Beginning& beginning : beginnings) {
    ids.push_back(questions_[beginning.question].ids);
    const auto begin = beginning.solution->completion.ids.begin();
    ids.back().insert(ids.back().end(), begin, begin + beginning.tokens);
  }
  std::vector<lm::Prompt> prompts;
  for (std::size_t b = 0; b < beginnings.size(); ++b)
    prompts.push_back(
        {beginnings[b].sample, ids[b], inputs_.keys.rollouts, {}, beginnings[b].tokens});
  std::vector<lm::PromptResult> results = generator_.run(prompts);
  std::vector<std::vector<Solution>> solutions(beginnings.size());
  for (std::size_t b = 0; b < beginnings.size(); ++b)
    for (lm::Completion& rollout : results[b].completions) {
      CollectedQuestion& question = collected[beginnings[b].question];
      ++question.rollouts;
      question.rollout_tokens += std::ssize(rollout.ids);
      solutions[b].push_back(joined(beginnings[b], std::move(rollout)));
    }
  return solutions;
}

/// Samples rollouts after each step of each path, except after the last step of the path. Then
/// makes the trees.
void Collector::label_all_steps(std::vector<CollectedQuestion>& collected) {
  std::vector<Beginning> beginnings;
  for (std::size_t q = 0; q < collected.size(); ++q)
    for (std::size_t p = 0; p < collected[q].paths.size(); ++p) {
      const Solution& path = collected[q].paths[p];
      for (std::int64_t s = 0; s + 1 < std::ssize(path.steps); ++s)
        beginnings.push_back({q, &path, path.tokens_of(s + 1),
                              sample_of_rollouts(index_of(q), static_cast<std::int64_t>(p), s)});
    }
  const std::int64_t all = std::ssize(beginnings) * inputs_.keys.rollouts;
  const std::int64_t paths = std::ssize(questions_) * inputs_.keys.num_paths;
  generator_.set_progress([this, paths, all](std::int64_t ended) { report(paths * ended / all); });
  std::vector<std::vector<Solution>> rollouts;
  if (!beginnings.empty()) rollouts = complete(beginnings, collected);
  generator_.set_progress({});
  auto next = rollouts.begin();
  for (CollectedQuestion& question : collected) {
    std::vector<PathAnswers> answers;
    for (const Solution& path : question.paths) {
      answers.push_back({path.answer.is_right, {}});
      for (std::size_t s = 0; s + 1 < path.steps.size(); ++s, ++next)
        answers.back().right_rollouts.push_back(static_cast<std::int32_t>(std::ranges::count_if(
            *next, [](const Solution& rollout) { return rollout.answer.is_right; })));
    }
    if (!answers.empty())
      question.tree = make_step_tree(inputs_.keys.label, inputs_.keys.rollouts, answers);
  }
}

/// Runs OmegaSearch for all questions at the same time, and makes the trees.
void Collector::search(std::vector<CollectedQuestion>& collected) {
  std::vector<std::optional<OmegaSearch>> searches(collected.size());
  for (std::size_t q = 0; q < collected.size(); ++q)
    if (!collected[q].paths.empty())
      searches[q].emplace(inputs_.keys.omega, std::move(collected[q].paths));
  while (true) {
    std::vector<Beginning> beginnings;
    for (std::size_t q = 0; q < searches.size(); ++q) {
      const auto probe = searches[q] ? searches[q]->next() : std::nullopt;
      if (probe)
        beginnings.push_back(
            {q, probe->solution, probe->tokens(), sample_of_state(index_of(q), probe->number)});
    }
    if (beginnings.empty()) break;
    std::vector<std::vector<Solution>> rollouts = complete(beginnings, collected);
    for (std::size_t b = 0; b < beginnings.size(); ++b)
      searches[beginnings[b].question]->answer(std::move(rollouts[b]));
  }
  for (std::size_t q = 0; q < searches.size(); ++q) {
    if (!searches[q]) continue;
    collected[q].paths = searches[q]->paths();
    collected[q].tree = searches[q]->tree();
  }
}

}  // namespace mgpu::jobs
