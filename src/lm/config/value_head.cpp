#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/config/value_head.hpp>

#include "classifier_fields.hpp"

namespace mgpu::lm {
namespace {

using formats::JsonValue;

constexpr const char* kMember = "value_head";
constexpr std::array kNames = {std::pair{"bernoulli", ValueKind::bernoulli},
                               std::pair{"histogram", ValueKind::histogram},
                               std::pair{"expectation", ValueKind::expectation}};

ValueHead parse_head(const ConfigFields& fields) {
  ValueHead head;
  const std::string kind = fields.text_or({"kind"}, "");
  const auto named =
      std::ranges::find_if(kNames, [&](const auto& entry) { return kind == entry.first; });
  if (named == kNames.end())
    fields.refuse_value("the kind of its value_head is not bernoulli, histogram or expectation");
  head.kind = named->second;
  if (head.kind != ValueKind::histogram) return head;
  head.outputs = fields.integer({"atoms"}, 2);
  head.lowest = fields.number({"lowest"});
  head.highest = fields.number({"highest"});
  if (head.lowest >= head.highest)
    fields.refuse_value("the lowest atom of its value_head is not below the highest");
  return head;
}

double sigmoid(double z) {
  return z >= 0.0 ? 1.0 / (1.0 + std::exp(-z)) : std::exp(z) / (1.0 + std::exp(z));
}

}  // namespace

const char* name_of(ValueKind kind) {
  for (const auto& [name, named] : kNames)
    if (named == kind) return name;
  return "";
}

std::int64_t ValueHead::nearest_atom(double value) const {
  const double place = (value - lowest) / (highest - lowest) * static_cast<double>(outputs - 1);
  return std::clamp<std::int64_t>(std::llround(place), 0, outputs - 1);
}

double expected_return(const ValueHead& head, std::span<const double> outputs) {
  if (head.kind == ValueKind::expectation) return outputs[0];
  if (head.kind == ValueKind::bernoulli) return sigmoid(outputs[0]);
  const double most = *std::ranges::max_element(outputs);
  double mass = 0.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const double weight = std::exp(outputs[i] - most);
    mass += weight;
    sum += weight * head.atom(static_cast<std::int64_t>(i));
  }
  return sum / mass;
}

std::string with_value_head(const fs::path& path, const std::string& config,
                            const ValueHead& head) {
  const JsonValue old = formats::parse_json_object(path, config);
  JsonValue::Members members;
  for (const auto& [name, value] : *old.members())
    if (name != kMember && name != "step_head") members.emplace_back(name, value);
  JsonValue::Members described{{"kind", name_of(head.kind)}};
  if (head.kind == ValueKind::histogram) {
    described.emplace_back("atoms", head.outputs);
    described.emplace_back("lowest", head.lowest);
    described.emplace_back("highest", head.highest);
  }
  members.emplace_back(kMember, JsonValue(std::move(described)));
  return formats::to_json(JsonValue(std::move(members)));
}

std::optional<ValueHead> read_value_head(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  const JsonValue root = formats::parse_json_object(path, read_config_texts(folder).config);
  const ConfigFields fields(path, root);
  if (!classifies_tokens(fields)) return std::nullopt;
  const std::int64_t labels = labels_of(fields);
  const std::optional<ConfigFields> described = fields.object({kMember});
  if (!described && labels != 1)
    fields.refuse_value("the classifier has " + std::to_string(labels) +
                        " outputs, and no `value_head` that says what they mean");
  const ValueHead head = described ? parse_head(*described) : ValueHead{};
  if (head.outputs != labels)
    fields.refuse_value("its value_head has " + std::to_string(head.outputs) +
                        " outputs, the classifier " + std::to_string(labels));
  return head;
}

}  // namespace mgpu::lm
