#include "method.hpp"

#include <cmath>
#include <utility>

#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/training/classifier_folder.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/json_fields.hpp>

#include "equal_labels.hpp"
#include "preferences.hpp"
#include "recipes/lm/examples.hpp"
#include "recipes/lm/row_numbers.hpp"

namespace mgpu::recipes {
namespace {

using formats::JsonError;
using formats::JsonValue;

/// Returns the member `cut` of a row: how many tokens at the start of the completion are not
/// learned from. Returns 0 if the row has no `cut`.
std::int64_t cut_of(const JsonValue& row) {
  const JsonValue* cut = rows::member_of(row, "cut");
  if (cut == nullptr) return 0;
  const std::optional<double> number = number_of(*cut);
  if (!number || *number < 0.0 || *number > 0x1p31 || *number != std::floor(*number))
    throw JsonError("its `cut` is no whole number from 0 on");
  return static_cast<std::int64_t>(*number);
}

/// Sets is_learned to 0 for the first `cut` learned tokens of each example.
/// Errors: JsonError if no learned token of an example remains.
void leave_out(std::int64_t cut, lm::LmExamples& examples) {
  for (std::size_t example = 0; example < examples.size(); ++example) {
    const std::int64_t end = examples.ends[example];
    std::int64_t left = cut;
    for (std::int64_t i = examples.begin(example); i < end && left > 0; ++i) {
      std::uint8_t& is_learned = examples.is_learned[static_cast<std::size_t>(i)];
      left -= is_learned;
      is_learned = 0;
    }
    if (examples.predictions(example) == 0)
      throw JsonError("its `cut` of " + std::to_string(cut) +
                      " leaves no token of the completion to learn from");
  }
}

}  // namespace

input::RowOptions ValueMethod::row_options(input::RowOptions options) const {
  options.may_have = {"cut"};
  if (settings_.has_pairs) {
    options.all_of = {"chosen", "rejected"};
    options.may_have.emplace_back("prompt");
    if (settings_.draws_preferences())
      options.all_of.insert(options.all_of.end(), {"score_chosen", "score_rejected"});
    return options;
  }
  options.one_of = {"prompt", "messages", "token_ids"};
  options.all_of = {"label"};
  options.may_have.emplace_back("completion");
  options.may_have.emplace_back("completion_ids");
  return options;
}

double ValueMethod::label_of(const JsonValue& row) const {
  const std::optional<double> label = number_of(row.at("label"));
  if (!label || !std::isfinite(*label)) throw JsonError("its `label` is no number");
  const bool is_bounded = settings_.head.kind != lm::ValueKind::expectation;
  if (is_bounded && (*label < settings_.head.lowest || *label > settings_.head.highest))
    throw JsonError(report::text_of("its `label` %g is not from %g to %g, as head %s needs", *label,
                                    settings_.head.lowest, settings_.head.highest,
                                    lm::name_of(settings_.head.kind)));
  return *label;
}

void ValueMethod::encode(const JsonValue& row, RowUse /*use*/, ExampleEncoder& encoder,
                         lm::LmExamples& examples) const {
  std::vector<double>& returns = examples.sequence_columns[kReturnColumn];
  if (settings_.has_pairs) {
    if (settings_.draws_preferences())
      encoder.add_pair(draw_preference(row, settings_.preference_beta, settings_.seed), examples);
    else
      encoder.add_pair(row, examples);
    returns = {settings_.head.highest, settings_.head.lowest};
  } else {
    if (rows::member_of(row, "token_ids") != nullptr &&
        rows::member_of(row, "completion_ids") == nullptr)
      throw JsonError("it has `token_ids`, and no `completion_ids`");
    encoder.add_row(row, examples);
    returns = {label_of(row)};
  }
  if (settings_.drops_equal_labels) examples.texts[kPromptKeys] = {prompt_key_of(row)};
  leave_out(cut_of(row), examples);
}

std::string ValueMethod::complete(std::int64_t /*seq_len*/, RowUse use,
                                  lm::LmExamples& examples) const {
  if (!settings_.drops_equal_labels) return {};
  const std::size_t rows = examples.size();
  drop_equal_labels(examples);
  if (examples.size() == rows && rows > 0) return {};
  if (examples.size() > 0)
    return report::text_of("value.drop_equal_labels leaves out %zu of %zu rows",
                           rows - examples.size(), rows);
  throw Failure({"E531",
                 ExitCode::data,
                 std::string("no prompt has completions with different labels, so "
                             "value.drop_equal_labels leaves no row to ") +
                     (use == RowUse::held_out ? "measure" : "train on"),
                 {},
                 "more completions of each prompt, or value.drop_equal_labels=false"});
}

void ValueMethod::check_start(const Config& config, const std::filesystem::path& folder) const {
  const std::optional<lm::ValueHead> stored = lm::read_value_head(folder);
  if (!stored) return;
  lm::ValueHead mine = settings_.head;
  if (mine.kind != lm::ValueKind::histogram) mine = {.kind = mine.kind};
  if (*stored == mine) return;
  throw config.problem(
      "E107", "value.head",
      "model.path is a value model with head " + std::string(lm::name_of(stored->kind)) +
          report::text_of(" and %lld outputs from %g to %g",
                          static_cast<long long>(stored->outputs), stored->lowest, stored->highest),
      "value.head, value.atoms, value.lowest and value.highest of that model");
}

std::optional<lm::ModelHead> ValueMethod::head(const lm::LmConfig& model) const {
  lm::ModelHead head = lm::classifier_head(model, lm::Classified::tokens, settings_.head.outputs);
  head.replaces_vocabulary = settings_.lm_weight == 0.0;
  return head;
}

lm::CompanionFiles ValueMethod::model_files(const std::filesystem::path& folder) const {
  lm::CompanionFiles files =
      lm::classifier_files(folder, lm::Classified::tokens, settings_.head.outputs);
  files["config.json"] =
      lm::with_value_head(folder / "config.json", files["config.json"], settings_.head);
  return files;
}

LossMeaning ValueMethod::loss_meaning() const {
  LossMeaning meaning{.name = "error of values",
                      .per = settings_.compares_pairs() ? "pair" : "sequence",
                      .is_cross_entropy = false,
                      .held_out_is_cross_entropy = false};
  if (settings_.kind == ValueLossKind::mse) meaning.unit = "";
  if (settings_.kind == ValueLossKind::bce) meaning.name = "binary cross-entropy of values";
  if (settings_.kind == ValueLossKind::mle) meaning.name = "cross-entropy of returns";
  if (settings_.compares_pairs()) meaning.name = "Bradley-Terry loss of values";
  if (settings_.lm_weight > 0.0)
    meaning.name += report::text_of(" + %.3g cross-entropy of tokens", settings_.lm_weight);
  return meaning;
}

std::string ValueMethod::accuracy() const {
  return settings_.compares_pairs() ? "pair accuracy" : "last values on the side of the return";
}

}  // namespace mgpu::recipes
