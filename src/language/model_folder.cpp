#include <array>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/language/model_folder.hpp>
#include <mgpu/model/tensor_view.hpp>
#include <mgpu/store/json_value.hpp>

namespace mgpu::language {
namespace {

constexpr const char* kWhat = "model";
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

std::string config_for_float32(const fs::path& path) {
  const store::JsonValue config = store::read_json_object(path, kMaxConfigBytes);
  store::JsonValue::Members members;
  for (const auto& [name, value] : *config.members())
    if (name != "dtype" && name != "torch_dtype") members.emplace_back(name, value);
  members.emplace_back("dtype", store::JsonValue(std::string("float32")));
  return store::to_json(store::JsonValue(std::move(members)));
}

[[noreturn]] void refuse(const fs::path& folder, const std::string& why) {
  throw Failure({"E601",
                 ExitCode::cannot_create,
                 "cannot create the folder of a model: " + why,
                 {"  --> " + folder.string()},
                 ""});
}

}  // namespace

CompanionFiles companion_files(const fs::path& folder) {
  CompanionFiles files{{"config.json", config_for_float32(folder / "config.json")}};
  for (const char* name : kCopied)
    if (fs::exists(folder / name)) files[name] = read_file(folder / name, kMaxFileBytes);
  return files;
}

std::vector<store::NamedTensor> named_tensors(const model::ParameterArena& arena,
                                              const at::Tensor& weights) {
  std::vector<store::NamedTensor> tensors;
  for (std::size_t p = 0; p < arena.size(); ++p) {
    const model::ParameterSpan& span = arena.span(p);
    const at::Tensor part = weights.narrow(0, span.begin, span.count);
    tensors.push_back({arena.spec(p).name, arena.spec(p).shape, model::view_of(part)});
  }
  return tensors;
}

void write_model_folder(const fs::path& folder, const model::ParameterArena& arena,
                        const CompanionFiles& files) {
  const fs::path unfinished = folder.string() + ".tmp";
  if (fs::exists(folder)) refuse(folder, "it is there already");
  std::error_code error;
  if (!fs::create_directories(unfinished, error))
    refuse(unfinished, error ? error.message() : "it is there already");
  const at::Tensor weights = arena.weights().cpu();
  write_safetensors(unfinished / "model.safetensors", named_tensors(arena, weights),
                    {{"format", "pt"}});
  for (const auto& [name, text] : files) {
    DurableFile file(unfinished / name, kWhat, DurableFile::Mode::create_new);
    file.write(text);
    file.sync();
    file.close();
  }
  sync_path(unfinished, kWhat);
  rename_durably(unfinished, folder, kWhat);
}

}  // namespace mgpu::language
