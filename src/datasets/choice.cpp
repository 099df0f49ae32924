// Generates questions with a choice of answers: which number is the largest, or the smallest?
#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <mgpu/config/common_keys.hpp>
#include <mgpu/datasets/answers.hpp>
#include <mgpu/datasets/registry.hpp>
#include <mgpu/formats/json_value.hpp>

#include "characters.hpp"
#include "row_space.hpp"

namespace mgpu::datasets {
namespace {

constexpr const char* kChoice = "choice";
constexpr std::uint64_t kNumbers = 1000;  // numbers to choose from are below this

struct Question {
  std::string text{};
  char letter = 'A';  // of the right answer
};

std::vector<std::uint64_t> choices_of_question(std::int64_t options) {
  std::vector<std::uint64_t> choices{2};
  for (std::int64_t i = 0; i < options; ++i)
    choices.push_back(kNumbers - static_cast<std::uint64_t>(i));
  return choices;
}

/// Draws and returns `options` different numbers. Each draw is an index into the sorted list of
/// numbers that were not drawn yet.
std::vector<std::uint64_t> draw_numbers(std::int64_t options, RowDraws& draws) {
  std::vector<std::uint64_t> numbers;
  for (std::int64_t i = 0; i < options; ++i) {
    std::uint64_t number = draws.below(kNumbers - static_cast<std::uint64_t>(i));
    std::vector<std::uint64_t> sorted = numbers;
    std::ranges::sort(sorted);
    for (const std::uint64_t other : sorted)
      if (number >= other) ++number;
    numbers.push_back(number);
  }
  return numbers;
}

Question make_question(std::int64_t options, RowDraws draws) {
  const bool is_largest = draws.below(2) == 0;
  const std::vector<std::uint64_t> numbers = draw_numbers(options, draws);
  Question question;
  question.text = is_largest ? "Which number is the largest?" : "Which number is the smallest?";
  for (std::size_t i = 0; i < numbers.size(); ++i)
    question.text +=
        std::string("\n") + static_cast<char>('A' + i) + ". " + std::to_string(numbers[i]);
  question.text += "\nAnswer:";
  const auto right =
      is_largest ? std::ranges::max_element(numbers) : std::ranges::min_element(numbers);
  question.letter = static_cast<char>('A' + (right - numbers.begin()));
  return question;
}

/// Returns the first capital letter in `text` that stands alone: no letter, digit or apostrophe is
/// directly before or after it. Returns "" if there is no such letter.
std::string first_letter(std::string_view text) {
  const auto is_word = [&](std::size_t at) {
    return at < text.size() && (is_letter(text[at]) || is_digit(text[at]) || text[at] == '\'');
  };
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] >= 'A' && text[i] <= 'Z' && !is_word(i + 1) && (i == 0 || !is_word(i - 1)))
      return {text[i]};
  return "";
}

class ChoiceQuestions final : public Dataset {
public:
  ChoiceQuestions(std::int64_t options, const RowSpace& space, SplitSizes sizes)
      : options_(options), space_(space), sizes_(sizes) {}

  std::int64_t rows(Split split) const override { return sizes_.of(split); }

  std::string row(Split split, std::int64_t index) const override {
    const Question question = question_of(split, index);
    const std::string letter(1, question.letter);
    return formats::to_json_line(formats::JsonValue::Members{
        {"prompt", question.text}, {"completion", " " + letter}, {"answer", letter}});
  }

  bool has_check() const override { return true; }

  /// Returns 1 if the given letter is right, otherwise 0. The given letter is the text in
  /// \boxed{...} or after `####`. Without such a text, it is the first capital letter that stands
  /// alone.
  double score(Split split, std::int64_t index, const Answer& answer) const override {
    const std::string letter(1, question_of(split, index).letter);
    const std::optional<std::string> given = given_answer(answer);
    return given && same_answer(*given, letter) ? 1.0 : 0.0;
  }

  std::optional<std::string> given_answer(const Answer& answer) const override {
    const std::string stated = stated_answer(answer.text);
    std::string given = stated == answer.text ? first_letter(stated) : stated;
    if (given.empty()) return std::nullopt;
    return given;
  }

private:
  Question question_of(Split split, std::int64_t index) const {
    return make_question(options_, space_.row(sizes_.number(split, index)));
  }

  std::int64_t options_;
  RowSpace space_;
  SplitSizes sizes_;
};

void add_choice_keys(KeyTable& table) {
  table.add({.name = "data.choice.options",
             .type = KeyType::integer,
             .default_value = "4",
             .summary = "answers that a question of data set choice has",
             .min = 2,
             .max = 26});
  add_rows_key(table, kChoice);
}

std::unique_ptr<Dataset> make_choice(const Config& config) {
  const std::int64_t options = config.integer("data.choice.options");
  const RowSpace space(choices_of_question(options), read_seed(config));
  const SplitSizes sizes =
      split_sizes(config, kChoice, config.integers("data.choice.rows"), space.size());
  return std::make_unique<ChoiceQuestions>(options, space, sizes);
}

}  // namespace

DatasetEntry choice_dataset() {
  return {.name = kChoice,
          .summary = "questions with a choice of answers about numbers",
          .add_keys = add_choice_keys,
          .make = make_choice};
}

}  // namespace mgpu::datasets
