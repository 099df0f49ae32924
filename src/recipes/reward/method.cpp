#include "method.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <mgpu/lm/forward/sequence_scorer.hpp>
#include <mgpu/lm/training/classifier_folder.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/row_encoder.hpp>

#include "recipes/lm/examples.hpp"

namespace mgpu::recipes {
namespace {

using formats::JsonError;

/// Returns the margin of a row; 0 without a margin. The margin may be the text of a number, because
/// CSV files have only texts.
double margin_of(const formats::JsonValue& row) {
  const formats::JsonValue* margin = rows::member_of(row, kMarginColumn);
  if (margin == nullptr) return 0.0;
  double value = std::numeric_limits<double>::quiet_NaN();
  if (margin->integer() != nullptr || margin->real() != nullptr) {
    value = margin->as<double>();
  } else if (const std::string* text = margin->text()) {
    const char* end = text->data() + text->size();
    const auto [stop, error] = std::from_chars(text->data(), end, value);
    if (error != std::errc() || stop != end) value = std::numeric_limits<double>::quiet_NaN();
  }
  if (!std::isfinite(value)) throw JsonError("`margin` is no number");
  return value;
}

/// Returns the row. If `chosen` is a text and the row has no prompt, adds an empty prompt, because
/// the texts `chosen` and `rejected` then contain the prompt.
formats::JsonValue with_prompt(const formats::JsonValue& row) {
  const formats::JsonValue* chosen = rows::member_of(row, "chosen");
  const bool has_texts = chosen != nullptr && chosen->text() != nullptr;
  if (!has_texts || rows::member_of(row, "prompt") != nullptr) return row;
  formats::JsonValue::Members members = *row.members();
  std::erase_if(members, [](const auto& member) { return member.first == "prompt"; });
  members.emplace_back("prompt", formats::JsonValue(std::string()));
  return formats::JsonValue(std::move(members));
}

/// Appends an example without the padding tokens at its end. The first token is kept even if it is
/// a padding token.
void append_unpadded(const lm::LmExamples& from, std::size_t example, std::int64_t padding,
                     lm::LmExamples& to) {
  const std::int64_t begin = from.begin(example);
  std::int64_t end = from.ends[example];
  while (end > begin + 1 && from.ids[static_cast<std::size_t>(end - 1)] == padding)
    --end;
  to.ids.insert(to.ids.end(), from.ids.begin() + begin, from.ids.begin() + end);
  to.is_learned.insert(to.is_learned.end(), from.is_learned.begin() + begin,
                       from.is_learned.begin() + end);
  to.ends.push_back(std::ssize(to.ids));
}

std::span<const std::int64_t> ids_of(const lm::LmExamples& examples, std::size_t example) {
  return std::span(examples.ids)
      .subspan(static_cast<std::size_t>(examples.begin(example)),
               static_cast<std::size_t>(examples.length(example)));
}

}  // namespace

input::RowOptions RewardMethod::row_options(input::RowOptions options) const {
  options.all_of = {"chosen", "rejected"};
  options.may_have = {"prompt", kMarginColumn};
  return options;
}

void RewardMethod::encode(const formats::JsonValue& row, RowUse /*use*/, ExampleEncoder& encoder,
                          lm::LmExamples& examples) const {
  const double margin = margin_of(row);
  lm::LmExamples whole;
  encoder.add_pair(with_prompt(row), whole);
  for (std::size_t example = 0; example < whole.size(); ++example)
    append_unpadded(whole, example, encoder.padding_id(), examples);
  if (std::ranges::equal(ids_of(examples, 0), ids_of(examples, 1)))
    throw JsonError("`chosen` and `rejected` differ in padding tokens only, which are not judged");
  examples.sequence_columns[kMarginColumn] = {margin, margin};
}

void RewardMethod::check_files(const Config& config, const std::filesystem::path& folder) const {
  const lm::LmConfig model = lm::read_lm_config(folder, lm::FolderWeights::ignored);
  if (lm::has_sequence_classifier(model)) return;
  const char* key = config.is("model.path", "null") ? "model.init" : "model.path";
  throw config.problem("E107", key,
                       "recipe reward does not train a model of family `" + model.family + "`",
                       "a folder of one of " + lm::families_of_sequence_classifiers());
}

std::optional<lm::ModelHead> RewardMethod::head(const lm::LmConfig& model) const {
  return lm::classifier_head(model, lm::Classified::sequences, 1);
}

lm::CompanionFiles RewardMethod::model_files(const std::filesystem::path& folder) const {
  lm::CompanionFiles files = lm::classifier_files(folder, lm::Classified::sequences, 1);
  if (!text::has_tokenizer(folder)) return files;
  const std::int64_t padding =
      rows::padding_id(text::parse_text_folder(text::read_text_files(folder), folder));
  if (padding >= 0) lm::set_padding(padding, files);
  return files;
}

LossMeaning RewardMethod::loss_meaning() const {
  LossMeaning meaning{.name = "-log sigmoid of the chosen minus the rejected reward",
                      .per = "pair",
                      .unit = settings_.center_weight > 0.0 ? "" : "nats",
                      .is_cross_entropy = false,
                      .held_out_is_cross_entropy = false};
  if (settings_.center_weight > 0.0)
    meaning.name += report::text_of(" + %.3g x the squared sum of both", settings_.center_weight);
  return meaning;
}

}  // namespace mgpu::recipes
