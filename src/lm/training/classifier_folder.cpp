#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/lm/training/classifier_folder.hpp>

#include "lm/config/family.hpp"

namespace mgpu::lm {
namespace {

using formats::JsonValue;

constexpr std::array<std::string_view, 5> kHeads = {
    "ForCausalLM", "LMHeadModel", "ForSequenceClassification", "ForTokenClassification", "Model"};

const char* suffix_of(Classified what) {
  return what == Classified::tokens ? "ForTokenClassification" : "ForSequenceClassification";
}

/// Returns "Llama" for "LlamaForCausalLM".
std::string_view without_head(std::string_view architecture) {
  for (const std::string_view head : kHeads)
    if (architecture.ends_with(head)) architecture.remove_suffix(head.size());
  return architecture;
}

/// Returns the prefix of the family's class names in transformers, such as "Llama". The prefix
/// comes from the first entry of `architectures`. If there is no such entry, the prefix comes from
/// `model_type`, and is "" for an unknown type.
std::string class_prefix(const JsonValue& config) {
  const JsonValue* names = config.find("architectures");
  const JsonValue::List* list = names == nullptr ? nullptr : names->list();
  const std::string* first = list == nullptr || list->empty() ? nullptr : list->front().text();
  if (first != nullptr) return std::string(without_head(*first));
  const JsonValue* type = config.find("model_type");
  const Family* family = find_family(type != nullptr && type->text() ? *type->text() : "");
  return family == nullptr ? "" : std::string(family->class_prefix);
}

JsonValue text(std::string value) {
  return JsonValue(std::move(value));
}

void add_labels(std::int64_t outputs, JsonValue::Members& members) {
  JsonValue::Members names;
  JsonValue::Members numbers;
  for (std::int64_t i = 0; i < outputs; ++i) {
    const std::string name = "LABEL_" + std::to_string(i);
    names.emplace_back(std::to_string(i), text(name));
    numbers.emplace_back(name, JsonValue(i));
  }
  members.emplace_back("id2label", JsonValue(std::move(names)));
  members.emplace_back("label2id", JsonValue(std::move(numbers)));
}

std::string classifier_config(const fs::path& path, const std::string& config, Classified what,
                              std::int64_t outputs) {
  const JsonValue old = formats::parse_json_object(path, config);
  const JsonValue architectures(JsonValue::List{text(class_prefix(old) + suffix_of(what))});
  JsonValue::Members members;
  if (old.find("architectures") == nullptr) members.emplace_back("architectures", architectures);
  for (const auto& [name, value] : *old.members())
    if (name != "id2label" && name != "label2id" && name != "num_labels")
      members.emplace_back(name, name == "architectures" ? architectures : value);
  add_labels(outputs, members);
  return formats::to_json(JsonValue(std::move(members)));
}

}  // namespace

ModelHead classifier_head(const LmConfig& config, Classified what, std::int64_t outputs) {
  const bool is_of_tokens = what == Classified::tokens;
  const bool is_gpt2 = config.family == "gpt2";  // GPT-2's two classifiers name heads differently
  return {.name = is_of_tokens && is_gpt2 ? "classifier" : "score",
          .outputs = outputs,
          .has_bias = is_of_tokens,
          .replaces_vocabulary = true};
}

CompanionFiles classifier_files(const fs::path& folder, Classified what, std::int64_t outputs) {
  CompanionFiles files = companion_files(folder);
  files["config.json"] =
      classifier_config(folder / "config.json", files["config.json"], what, outputs);
  files.erase("generation_config.json");
  return files;
}

void set_padding(std::int64_t pad_token_id, CompanionFiles& files) {
  std::string& text = files.at("config.json");
  const JsonValue old = formats::parse_json_object("config.json", text);
  JsonValue::Members members;
  for (const auto& [name, value] : *old.members())
    if (name != "pad_token_id") members.emplace_back(name, value);
  members.emplace_back("pad_token_id", JsonValue(pad_token_id));
  text = formats::to_json(JsonValue(std::move(members)));
}

}  // namespace mgpu::lm
