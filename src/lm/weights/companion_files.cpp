#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/lm/weights/companion_files.hpp>

namespace mgpu::lm {
namespace {

using formats::JsonValue;

constexpr std::uint64_t kMaxConfigBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{256} << 20;

constexpr std::array kCopied = {"generation_config.json",
                                "tokenizer.json",
                                "tokenizer_config.json",
                                "special_tokens_map.json",
                                "added_tokens.json",
                                "tokenizer.model",
                                "vocab.json",
                                "merges.txt",
                                "chat_template.jinja"};

JsonValue::Members members_without(const JsonValue& object,
                                   std::initializer_list<std::string_view> names) {
  JsonValue::Members members;
  for (const auto& [name, value] : *object.members())
    if (std::ranges::find(names, name) == names.end()) members.emplace_back(name, value);
  return members;
}

/// Returns the content of config.json with `dtype` float32, and without other fields about the
/// number format of the weights.
std::string config_for_float32(const fs::path& path) {
  JsonValue::Members members = members_without(formats::read_json_object(path, kMaxConfigBytes),
                                               {"dtype", "torch_dtype", "quantization_config"});
  members.emplace_back("dtype", JsonValue(std::string("float32")));
  return formats::to_json(JsonValue(std::move(members)));
}

}  // namespace

CompanionFiles companion_files(const fs::path& folder) {
  CompanionFiles files{{"config.json", config_for_float32(folder / "config.json")}};
  for (const char* name : kCopied)
    if (fs::exists(folder / name)) files[name] = read_file(folder / name, kMaxFileBytes);
  return files;
}

void set_stored_head(const LmConfig& config, CompanionFiles& files) {
  if (config.stored_head != StoredHead::untied) return;
  std::string& text = files.at("config.json");
  JsonValue::Members members =
      members_without(formats::parse_json_object("config.json", text), {"tie_word_embeddings"});
  members.emplace_back("tie_word_embeddings", JsonValue(false));
  text = formats::to_json(JsonValue(std::move(members)));
}

}  // namespace mgpu::lm
