#include "method.hpp"

#include <algorithm>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/rows/json_fields.hpp>

#include "recipes/lm/examples.hpp"

namespace mgpu::recipes {
namespace {

using formats::JsonError;

/// Returns the label of a row: true if the completion is good. The label may be
/// true, false, 1, 0, or a text such as "true". CSV files have only texts.
bool label_of(const formats::JsonValue& row) {
  const formats::JsonValue* label = rows::member_of(row, kLabelColumn);
  if (label == nullptr) throw JsonError("it has no `label`");
  if (const bool* value = label->flag()) return *value;
  if (const std::int64_t* number = label->integer(); number && (*number == 0 || *number == 1))
    return *number == 1;
  if (const std::string* text = label->text()) {
    for (const char* name : {"true", "True", "1"})
      if (*text == name) return true;
    for (const char* name : {"false", "False", "0"})
      if (*text == name) return false;
  }
  throw JsonError("`label` is neither true nor false");
}

/// Appends an example to `to`: the prompt of example `prompt`, and the completion of example
/// `completion`. The completion is cut so that the new example has at most `seq_len` tokens.
void append_mixed(const lm::LmExamples& from, std::size_t prompt, std::size_t completion,
                  std::int64_t seq_len, lm::LmExamples& to) {
  const auto at = [](const auto& values, std::int64_t index) { return values.begin() + index; };
  const std::int64_t given = from.prompt_length(prompt);
  const std::int64_t skipped = from.prompt_length(completion);
  const std::int64_t kept = std::min(from.length(completion) - skipped, seq_len - given);
  const std::int64_t begin = from.begin(prompt);
  const std::int64_t other = from.begin(completion) + skipped;
  to.ids.insert(to.ids.end(), at(from.ids, begin), at(from.ids, begin + given));
  to.ids.insert(to.ids.end(), at(from.ids, other), at(from.ids, other + kept));
  to.is_learned.resize(to.is_learned.size() + static_cast<std::size_t>(given), 0);
  to.is_learned.resize(to.ids.size(), 1);
  to.ends.push_back(std::ssize(to.ids));
}

[[noreturn]] void refuse_one_row() {
  throw Failure({"E531",
                 ExitCode::data,
                 "the KL divergence is estimated with completions of other rows, and there is only "
                 "one row",
                 {},
                 "more rows, or kto.loss=apo_zero_unpaired"});
}

}  // namespace

input::RowOptions KtoMethod::row_options(input::RowOptions options) const {
  options.all_of = {"prompt", "completion", kLabelColumn};
  return options;
}

void KtoMethod::encode(const formats::JsonValue& row, RowUse /*use*/, ExampleEncoder& encoder,
                       lm::LmExamples& examples) const {
  const bool is_good = label_of(row);
  encoder.add_judged(row, examples);
  examples.sequence_columns[kLabelColumn] = {is_good ? 1.0 : 0.0};
}

std::string KtoMethod::complete(std::int64_t seq_len, RowUse /*use*/,
                                lm::LmExamples& examples) const {
  if (!settings_.has_kl()) return {};
  const std::size_t rows = examples.size();
  if (rows == 1) refuse_one_row();
  const lm::LmExamples alone = std::exchange(examples, {});
  examples.group_size = alone.group_size;
  const std::vector<double>& labels = alone.sequence_columns.at(kLabelColumn);
  for (std::size_t row = 0; row < rows; ++row) {
    append_mixed(alone, row, row, seq_len, examples);
    append_mixed(alone, row, (row + rows - 1) % rows, seq_len, examples);
    examples.sequence_columns[kLabelColumn].insert(examples.sequence_columns[kLabelColumn].end(), 2,
                                                   labels[row]);
  }
  return {};
}

LossMeaning KtoMethod::loss_meaning() const {
  return {.name = settings_.has_kl() ? "KTO loss" : "APO-zero loss of single completions",
          .per = "row",
          .unit = "",
          .is_cross_entropy = false,
          .held_out_is_cross_entropy = false};
}

}  // namespace mgpu::recipes
