#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace mgpu::formats {

namespace fs = std::filesystem;

/// Returns whether `text` may be the name of a model of the Hugging Face hub: "Qwen/Qwen2.5-0.5B",
/// or a name without an owner such as "gpt2".
bool is_hub_name(std::string_view text);

/// A model in the local Hugging Face cache.
struct HubCopy {
  fs::path folder;        // .../models--Qwen--Qwen2.5-0.5B/snapshots/COMMIT
  std::string problem{};  // why the copy cannot be used, as a sentence; "" if it is complete
};

/// Returns the copy of model `name` in the local Hugging Face cache, at the commit that the model's
/// file refs/main names. The cache is the first of these folders whose variable is set:
/// $HF_HUB_CACHE, $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub, $HOME/.cache/huggingface/hub.
/// Nothing is downloaded. A copy is complete if it has config.json and readable weights. Returns
/// nullopt if `name` is not the name of a model, or if the cache does not have the model at that
/// commit.
std::optional<HubCopy> find_hub_copy(const std::string& name);

}  // namespace mgpu::formats
