#include "questions.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/base/random_streams.hpp>

#include "loss.hpp"
#include "recipes/lm/example_lists.hpp"

namespace mgpu::recipes {
namespace {

constexpr Purpose kHeldOut{42};       // of the random numbers that choose held-out questions
constexpr Purpose kLabelShuffle{43};  // of the random numbers that shuffle labels

/// Returns the indices in column kStepLabelColumn at which the labels of the steps of an example
/// are stored.
std::vector<std::size_t> label_places(const lm::LmExamples& examples, std::size_t example) {
  std::vector<std::size_t> places;
  for (std::int64_t i = examples.begin(example); i + 1 < examples.ends[example]; ++i)
    if (examples.is_learned[static_cast<std::size_t>(i) + 1] != 0)
      places.push_back(static_cast<std::size_t>(i));
  return places;
}

/// Returns a list for each question, with the indices of its examples.
std::vector<std::vector<std::size_t>> solutions_of_questions(const lm::LmExamples& examples) {
  const std::vector<double>& questions = examples.sequence_columns.at(kQuestionColumn);
  std::vector<std::vector<std::size_t>> solutions;
  for (std::size_t example = 0; example < examples.size(); ++example) {
    const auto question = static_cast<std::size_t>(questions[example]);
    solutions.resize(std::max(solutions.size(), question + 1));
    solutions[question].push_back(example);
  }
  return solutions;
}

double mean_label(const lm::LmExamples& examples, std::size_t example) {
  const std::vector<double>& labels = examples.token_columns.at(kStepLabelColumn);
  const std::vector<std::size_t> places = label_places(examples, example);
  double sum = 0.0;
  for (const std::size_t place : places)
    sum += labels[place];
  return sum / static_cast<double>(places.size());
}

bool have_different_labels(const lm::LmExamples& examples, std::size_t a, std::size_t b) {
  const std::vector<double>& labels = examples.token_columns.at(kStepLabelColumn);
  std::set<double> found;
  for (const std::size_t example : {a, b})
    for (const std::size_t place : label_places(examples, example))
      found.insert(labels[place]);
  return found.size() > 1;
}

}  // namespace

bool holds_out(const HeldOutPart& part, const std::string& question) {
  const RandomStream draws(part.seed, kHeldOut, 0, crc32c(question));
  return static_cast<double>(draws.uniform(0)) < part.share;
}

void exchange_labels(std::uint64_t seed, std::uint64_t question,
                     std::span<const std::size_t> places, std::vector<double>& labels) {
  const RandomStream draws(seed, kLabelShuffle, 0, question);
  for (std::size_t left = places.size(); left > 1; --left) {
    const auto other = draws.below(static_cast<std::uint32_t>(left), left);
    std::swap(labels[places[left - 1]], labels[places[other]]);
  }
}

void keep_questions(const HeldOutPart& part, lm::LmExamples& examples) {
  const lm::LmExamples all = std::exchange(examples, {});
  const std::vector<std::string>& questions = all.texts.at(kQuestionTexts);
  examples.group_size = all.group_size;
  for (std::size_t example = 0; example < all.size(); ++example) {
    if (holds_out(part, questions[example]) == part.keeps_held_out)
      append_example(all, example, examples);
  }
}

void number_questions(lm::LmExamples& examples) {
  std::map<std::string, double> numbers;
  std::vector<double>& questions = examples.sequence_columns[kQuestionColumn];
  for (const std::string& text : examples.texts[kQuestionTexts])
    questions.push_back(numbers.emplace(text, static_cast<double>(numbers.size())).first->second);
  examples.texts.clear();
  std::int64_t most = 0;
  for (std::size_t example = 0; example < examples.size(); ++example)
    most = std::max(most, examples.predictions(example));
  examples.sequence_columns[kMostStepsColumn].assign(examples.size(), static_cast<double>(most));
}

void shuffle_labels(std::uint64_t seed, lm::LmExamples& examples) {
  std::vector<double>& labels = examples.token_columns.at(kStepLabelColumn);
  std::uint64_t question = 0;
  for (const std::vector<std::size_t>& solutions : solutions_of_questions(examples)) {
    std::vector<std::size_t> places;
    for (const std::size_t example : solutions)
      std::ranges::copy(label_places(examples, example), std::back_inserter(places));
    exchange_labels(seed, question++, places, labels);
  }
}

void join_solutions(lm::LmExamples& examples) {
  const lm::LmExamples all = std::exchange(examples, {});
  examples.group_size = 2;
  for (std::vector<std::size_t> solutions : solutions_of_questions(all)) {
    std::ranges::stable_sort(solutions, std::greater(),
                             [&](std::size_t example) { return mean_label(all, example); });
    for (std::size_t i = 0; i < solutions.size() / 2; ++i) {
      const std::size_t worse = solutions[solutions.size() - 1 - i];
      if (!have_different_labels(all, solutions[i], worse)) continue;
      append_example(all, solutions[i], examples);
      append_example(all, worse, examples);
    }
  }
}

}  // namespace mgpu::recipes
