#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/hub_cache.hpp>
#include <mgpu/formats/weight_files.hpp>

namespace mgpu::formats {
namespace {

/// Returns folder `below` inside the folder that the environment variable `name` holds; nullopt if
/// the variable is not set or is empty.
std::optional<fs::path> below_variable(const char* name, const char* below) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return fs::path(value) / below;
}

std::optional<fs::path> hub_cache_folder() {
  if (const auto cache = below_variable("HF_HUB_CACHE", "")) return cache;
  if (const auto cache = below_variable("HF_HOME", "hub")) return cache;
  if (const auto cache = below_variable("XDG_CACHE_HOME", "huggingface/hub")) return cache;
  return below_variable("HOME", ".cache/huggingface/hub");
}

/// Returns the name of a model's folder in the cache, such as "models--Qwen--Qwen2.5-0.5B" for
/// "Qwen/Qwen2.5-0.5B".
std::string folder_name_of(const std::string& name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string::npos) return "models--" + name;
  return "models--" + name.substr(0, slash) + "--" + name.substr(slash + 1);
}

/// Returns why the folder cannot be used as a model; "" if it has config.json and readable weights.
std::string problem_of(const fs::path& folder) {
  std::error_code missing;
  if (!fs::is_regular_file(folder / "config.json", missing)) return "it has no config.json";
  try {
    const WeightFiles files(folder);
  } catch (const Failure& failure) {
    return failure.report().sentence;
  }
  return "";
}

}  // namespace

bool is_hub_name(std::string_view text) {
  const bool has_good_characters = std::ranges::all_of(text, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/';
  });
  const std::size_t slash = text.find('/');
  const std::string_view last = slash == text.npos ? text : text.substr(slash + 1);
  return has_good_characters && !text.empty() && !last.empty() && !text.starts_with('.') &&
         !text.starts_with('/') && !last.starts_with('.') && last.find('/') == last.npos;
}

std::optional<HubCopy> find_hub_copy(const std::string& name) {
  const std::optional<fs::path> cache = hub_cache_folder();
  if (!cache || !is_hub_name(name)) return std::nullopt;
  const fs::path model = fs::absolute(*cache) / folder_name_of(name);
  std::string commit;
  std::ifstream(model / "refs" / "main") >> commit;
  const bool is_name = !commit.empty() && std::ranges::all_of(commit, [](unsigned char c) {
    return std::isalnum(c) != 0;
  });
  std::error_code missing;
  const fs::path folder = model / "snapshots" / commit;
  if (!is_name || !fs::is_directory(folder, missing)) return std::nullopt;
  return HubCopy{folder, problem_of(folder)};
}

}  // namespace mgpu::formats
