#include "preferences.hpp"

#include <cmath>
#include <optional>
#include <string>

#include <mgpu/base/random_streams.hpp>
#include <mgpu/base/text_hash.hpp>
#include <mgpu/rows/json_fields.hpp>

#include "recipes/lm/logistic.hpp"
#include "recipes/lm/row_numbers.hpp"

namespace mgpu::recipes {
namespace {

using formats::JsonError;
using formats::JsonValue;

constexpr Purpose kPreferences{32};  // random streams for preferences, one for each pair

double score_of(const JsonValue& row, const char* name) {
  const std::optional<double> score = number_of(row.at(name));
  if (!score || !std::isfinite(*score))
    throw JsonError(std::string("its `") + name + "` is no number");
  return *score;
}

/// Returns the prompt and both completions of a row as one text.
std::string texts_of(const JsonValue& row) {
  JsonValue::List texts;
  for (const char* name : {"prompt", "chosen", "rejected"}) {
    const JsonValue* text = rows::member_of(row, name);
    texts.push_back(text == nullptr ? JsonValue() : *text);
  }
  return formats::to_json_line(JsonValue::Members{{"texts", texts}});
}

JsonValue exchanged(const JsonValue& row) {
  JsonValue::Members members = *row.members();
  for (auto& [name, value] : members) {
    if (name == "chosen")
      value = row.at("rejected");
    else if (name == "rejected")
      value = row.at("chosen");
  }
  return members;
}

}  // namespace

double preference_probability(double beta, double score_chosen, double score_rejected) {
  return sigmoid(beta * (score_chosen - score_rejected));
}

JsonValue draw_preference(const JsonValue& row, double beta, std::uint64_t seed) {
  const double probability =
      preference_probability(beta, score_of(row, "score_chosen"), score_of(row, "score_rejected"));
  const RandomStream stream(seed, kPreferences, 0, text_hash(texts_of(row)));
  const bool is_chosen = uniform53(stream.bits(0), stream.bits(1)) < probability;
  return is_chosen ? row : exchanged(row);
}

}  // namespace mgpu::recipes
