#include "answers.hpp"

#include <mgpu/datasets/answers.hpp>
#include <mgpu/datasets/pass_rates.hpp>

namespace mgpu::jobs {

SampleAnswers answers_of(const datasets::Dataset* dataset,
                         std::span<const datasets::Answer> completions) {
  std::vector<std::optional<std::string>> given;
  for (const datasets::Answer& completion : completions)
    given.push_back(dataset != nullptr ? dataset->given_answer(completion)
                                       : datasets::find_answer(completion.text));
  SampleAnswers answers;
  for (const std::optional<std::string>& answer : given)
    answers.texts.push_back(answer.value_or(""));
  answers.same_as = datasets::first_equal(given, dataset);
  return answers;
}

}  // namespace mgpu::jobs
