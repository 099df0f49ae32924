#include <array>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/lm/weights/companion_files.hpp>

namespace mgpu::lm {
namespace {

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

/// Returns config.json with float32 as the type of the weights, and without other fields about
/// their number format.
std::string config_for_float32(const fs::path& path) {
  const formats::JsonValue config = formats::read_json_object(path, kMaxConfigBytes);
  formats::JsonValue::Members members;
  for (const auto& [name, value] : *config.members())
    if (name != "dtype" && name != "torch_dtype" && name != "quantization_config")
      members.emplace_back(name, value);
  members.emplace_back("dtype", formats::JsonValue(std::string("float32")));
  return formats::to_json(formats::JsonValue(std::move(members)));
}

}  // namespace

CompanionFiles companion_files(const fs::path& folder) {
  CompanionFiles files{{"config.json", config_for_float32(folder / "config.json")}};
  for (const char* name : kCopied)
    if (fs::exists(folder / name)) files[name] = read_file(folder / name, kMaxFileBytes);
  return files;
}

}  // namespace mgpu::lm
