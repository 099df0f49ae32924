#include "method.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/training/classifier_folder.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/step_tokens.hpp>

#include "collected_rows.hpp"
#include "keys.hpp"
#include "questions.hpp"
#include "recipes/lm/examples.hpp"
#include "recipes/lm/row_numbers.hpp"

namespace mgpu::recipes {
namespace {

using formats::JsonError;
using formats::JsonValue;

/// Returns the list `name` of a row.
/// Errors: JsonError if the member is missing, is no list, or does not have `steps` items.
const JsonValue::List& list_of_steps(const JsonValue& row, const char* name, std::size_t steps) {
  const JsonValue::List* list = row.at(name).list();
  if (list == nullptr) throw JsonError(std::string("its `") + name + "` is no list");
  if (list->size() != steps)
    throw JsonError(std::string("its `") + name + "` has " + std::to_string(list->size()) +
                    " items, and there are " + std::to_string(steps) + " steps");
  return *list;
}

std::vector<std::string> texts_of_steps(const JsonValue& row) {
  const JsonValue::List* list = row.at("completions").list();
  if (list == nullptr) throw JsonError("its `completions` is no list of texts");
  if (list->empty()) throw JsonError("it has no steps: `completions` is empty");
  std::vector<std::string> steps;
  for (const JsonValue& step : *list) {
    if (step.text() == nullptr) throw JsonError("its `completions` is no list of texts");
    steps.push_back(*step.text());
  }
  return steps;
}

/// Returns the numbers of the list `name`, one for each step.
/// Errors: those of list_of_steps(); JsonError if an item is no number from 0 to 1.
std::vector<double> numbers_of_steps(const JsonValue& row, const char* name, std::size_t steps) {
  std::vector<double> numbers;
  for (const JsonValue& item : list_of_steps(row, name, steps)) {
    const std::optional<double> number = number_of(item);
    if (!number || !(*number >= 0.0 && *number <= 1.0))
      throw JsonError(std::string("its `") + name + "` has an item that is no number from 0 to 1");
    numbers.push_back(*number);
  }
  return numbers;
}

/// Returns the tokens of a prompt and of the solution that a model sampled, with the ends of the
/// steps. `text` is the text of all steps.
/// Errors: JsonError if the members are missing or wrong, or if the tokens of the solution decode
///         to another text.
rows::StepTokens drawn_tokens(const JsonValue& row, std::size_t steps, const std::string& text,
                              const rows::RowEncoder& encoder) {
  rows::StepTokens tokens{rows::ids_of(row.at("prompt_ids"), "prompt_ids"), {}};
  const std::int64_t before = std::ssize(tokens.ids);
  const std::vector<std::int64_t> drawn = rows::ids_of(row.at("output_ids"), "output_ids");
  tokens.ids.insert(tokens.ids.end(), drawn.begin(), drawn.end());
  for (const JsonValue& end : list_of_steps(row, "ends", steps))
    tokens.ends.push_back(before + end.as<std::int64_t>());
  encoder.check_step_texts(tokens, before, text);
  return tokens;
}

[[noreturn]] void refuse_lack_of_questions(RowUse use) {
  throw Failure({"E531",
                 ExitCode::data,
                 std::string("prm.held_out leaves no question ") +
                     (use == RowUse::held_out ? "to measure" : "to train on"),
                 {},
                 "more questions, or another prm.held_out"});
}

[[noreturn]] void refuse_lack_of_pairs() {
  throw Failure({"E531",
                 ExitCode::data,
                 "no question has two solutions with different labels, which prm.loss=pairwise "
                 "compares",
                 {},
                 "more solutions of each question, or prm.loss=bce"});
}

}  // namespace

input::RowOptions PrmMethod::row_options(input::RowOptions options) const {
  options.all_of = {"prompt", "completions", "labels"};
  options.may_have = {"values"};
  return options;
}

std::shared_ptr<const input::GeneratedRows> PrmMethod::open_file(
    const std::filesystem::path& path) const {
  if (!is_tree_file(path)) return nullptr;
  return std::make_shared<CollectedRows>(path);
}

void PrmMethod::encode(const JsonValue& row, RowUse /*use*/, ExampleEncoder& encoder,
                       lm::LmExamples& examples) const {
  const std::vector<std::string> steps = texts_of_steps(row);
  const std::vector<double> labels = numbers_of_steps(row, "labels", steps.size());
  const bool has_values = settings_.learns_values && rows::member_of(row, "values") != nullptr;
  const std::vector<double> learned =
      has_values ? numbers_of_steps(row, "values", steps.size()) : labels;
  const std::string& prompt = rows::text_of(rows::member_of(row, "prompt"), "prompt");
  const bool is_drawn = settings_.head.place == lm::StepPlace::last_token;
  std::string text;
  for (const std::string& step : steps)
    text += step;
  const rows::StepTokens tokens =
      is_drawn ? drawn_tokens(row, steps.size(), text, encoder.rows())
               : encoder.rows().encode_steps(prompt, steps, settings_.head.separator);
  encoder.add_steps(tokens, examples);
  std::vector<double>& column = examples.token_columns[kStepLabelColumn];
  column.assign(tokens.ids.size(), 0.0);
  for (std::size_t step = 0; step < steps.size(); ++step)
    column.at(static_cast<std::size_t>(tokens.ends[step] - 2)) = learned[step];
  const std::string question =
      is_drawn ? std::to_string(row.get<std::int64_t>("question")) : prompt;
  examples.texts[kQuestionTexts] = {question};
}

std::string PrmMethod::complete(std::int64_t /*seq_len*/, RowUse use,
                                lm::LmExamples& examples) const {
  if (settings_.held_out > 0.0) {
    keep_questions({settings_.seed, settings_.held_out, use == RowUse::held_out}, examples);
    if (examples.size() == 0) refuse_lack_of_questions(use);
  }
  number_questions(examples);
  if (settings_.shuffles_labels) shuffle_labels(settings_.seed, examples);
  if (settings_.kind != PrmLossKind::pairwise) return {};
  // Held-out solutions need no groups: an evaluation compares all solutions of a question.
  examples.group_size = 1;
  if (use == RowUse::held_out) return {};
  const std::size_t solutions = examples.size();
  join_solutions(examples);
  if (examples.size() == 0) refuse_lack_of_pairs();
  if (examples.size() == solutions) return {};
  return report::text_of("%zu of %zu solutions form no pair, and are left out",
                         solutions - examples.size(), solutions);
}

void PrmMethod::check_start(const Config& config, const std::filesystem::path& folder) const {
  if (!lm::classifies_tokens(folder)) return;
  const lm::StepHead stored = lm::read_step_head(folder);
  const lm::StepHead& mine = settings_.head;
  if (stored.outputs != mine.outputs)
    throw config.problem(
        "E107", "prm.head",
        "model.path is a process reward model with " + std::to_string(stored.outputs) + " outputs",
        stored.outputs == 2 ? "prm.head=two_class" : "prm.head=scalar");
  if (stored.place == mine.place &&
      (mine.place == lm::StepPlace::last_token || stored.separator == mine.separator))
    return;
  throw config.problem("E107", "model.path",
                       "model.path judges steps at another token than these rows need",
                       "rows of the form that it was trained on, or another model.path");
}

std::optional<lm::ModelHead> PrmMethod::head(const lm::LmConfig& model) const {
  return lm::classifier_head(model, lm::Classified::tokens, settings_.head.outputs);
}

lm::CompanionFiles PrmMethod::model_files(const std::filesystem::path& folder) const {
  lm::CompanionFiles files =
      lm::classifier_files(folder, lm::Classified::tokens, settings_.head.outputs);
  files["config.json"] =
      lm::with_step_head(folder / "config.json", files["config.json"], settings_.head);
  return files;
}

LossMeaning PrmMethod::loss_meaning() const {
  LossMeaning meaning{.name = "binary cross-entropy of steps",
                      .per = "step",
                      .is_cross_entropy = false,
                      .held_out_is_cross_entropy = false};
  if (settings_.kind == PrmLossKind::mse) {
    meaning.name = "squared error of steps";
    meaning.unit = "";
  }
  if (settings_.kind == PrmLossKind::pairwise) {
    meaning.name = "-log sigmoid of the better minus the worse step";
    meaning.per = "pair of steps";
  }
  return meaning;
}

std::string PrmMethod::accuracy() const {
  return settings_.kind == PrmLossKind::pairwise ? "pair accuracy" : "step accuracy";
}

}  // namespace mgpu::recipes
