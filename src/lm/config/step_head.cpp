#include <utility>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/lm/config/lm_config.hpp>
#include <mgpu/lm/config/step_head.hpp>

#include "classifier_fields.hpp"

namespace mgpu::lm {
namespace {

using formats::JsonValue;

constexpr const char* kStepHead = "step_head";

JsonValue read_root(const fs::path& path, const fs::path& folder) {
  return formats::parse_json_object(path, read_config_texts(folder).config);
}

void parse_place(const ConfigFields& fields, StepHead& head) {
  const std::string place = fields.text_or({"place"}, "");
  if (place == name_of(StepPlace::last_token))
    head.place = StepPlace::last_token;
  else if (place == name_of(StepPlace::separator))
    head.separator = fields.text_or({"separator"}, head.separator);
  else
    fields.refuse_value("the place of its step_head is neither separator nor last_token");
}

}  // namespace

const char* name_of(StepPlace place) {
  return place == StepPlace::separator ? "separator" : "last_token";
}

std::string with_step_head(const fs::path& path, const std::string& config, const StepHead& head) {
  const JsonValue old = formats::parse_json_object(path, config);
  JsonValue::Members members;
  for (const auto& [name, value] : *old.members())
    if (name != kStepHead && name != "value_head") members.emplace_back(name, value);
  JsonValue::Members described{{"place", name_of(head.place)}};
  if (head.place == StepPlace::separator) described.emplace_back("separator", head.separator);
  members.emplace_back(kStepHead, JsonValue(std::move(described)));
  return formats::to_json(JsonValue(std::move(members)));
}

bool classifies_tokens(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  const JsonValue root = read_root(path, folder);
  return classifies_tokens(ConfigFields(path, root));
}

StepHead read_step_head(const fs::path& folder) {
  const fs::path path = folder / "config.json";
  const JsonValue root = read_root(path, folder);
  const ConfigFields fields(path, root);
  if (!classifies_tokens(fields))
    fields.refuse_value(
        "it is no process reward model: no architecture ends with "
        "ForTokenClassification");
  StepHead head{.outputs = labels_of(fields)};
  if (head.outputs < 1 || head.outputs > 2)
    fields.refuse_value("the classifier has " + std::to_string(head.outputs) +
                        " labels, and a step is right or wrong");
  if (const std::optional<ConfigFields> described = fields.object({kStepHead}))
    parse_place(*described, head);
  return head;
}

}  // namespace mgpu::lm
