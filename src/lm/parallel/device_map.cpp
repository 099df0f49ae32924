#include "device_map.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

namespace mgpu::lm {
namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

constexpr int kMaxLayers = 65536;

std::optional<int> number_of(std::string_view text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  const bool is_number = !text.empty() && error == std::errc() && rest == end && number >= 0;
  return is_number ? std::optional(number) : std::nullopt;
}

/// Returns N of "model.layers.N" or "transformer.h.N"; nullopt for other modules.
std::optional<int> layer_of(std::string_view module) {
  for (const std::string_view list : {"layers.", "h."}) {
    const std::size_t at = module.rfind(list);
    const bool begins_name = at == 0 || (at != module.npos && module[at - 1] == '.');
    if (begins_name) return number_of(module.substr(at + list.size()));
  }
  return std::nullopt;
}

bool is_embedding(std::string_view module) {
  return module.ends_with("embed_tokens") || module.ends_with("wte") || module.ends_with("wpe") ||
         module.ends_with("rotary_emb");
}

std::string list_text(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items)
    text += (text.empty() ? "" : ", ") + item;
  return "[" + text + "]";
}

MappedList refused(std::string problem, const std::vector<std::string>& items) {
  MappedList list;
  list.problem = std::move(problem);
  list.help = items.empty() ? "write the rank of each layer: [0, 0, 1, 1]; or balanced"
                            : "write " + list_text(items) + ", or balanced";
  return list;
}

/// Returns `ranks` in ascending order, as texts. Messages suggest this list as a value of
/// model.device_map. It gives each rank the same number of layers as `ranks`.
std::vector<std::string> in_order(std::vector<int> ranks) {
  std::ranges::sort(ranks);
  std::vector<std::string> items;
  items.reserve(ranks.size());
  for (const int rank : ranks)
    items.push_back(std::to_string(rank));
  return items;
}

MappedList list_of_layers(const std::map<int, int>& layers, const Entries& entries) {
  std::vector<int> ranks;
  for (const auto& [layer, rank] : layers) {
    if (layer != static_cast<int>(ranks.size()))
      return refused("the layer " + std::to_string(ranks.size()) + " has no device", {});
    ranks.push_back(rank);
  }
  const std::vector<std::string> items = in_order(ranks);
  if (!std::ranges::is_sorted(ranks))
    return refused("a rank can only have layers that follow each other, in order of ranks", items);
  for (const auto& [module, device] : entries) {
    if (layer_of(module)) continue;
    const int there = is_embedding(module) ? ranks.front() : ranks.back();
    if (number_of(device) != there) {
      return refused(
          "`" + module + "` has to be on the " +
              (is_embedding(module) ? "rank of the first layer" : "rank of the last layer"),
          items);
    }
  }
  return {.items = items};
}

}  // namespace

MappedList ranks_of_device_map(const Entries& entries) {
  std::map<int, int> layers;
  for (const auto& [module, device] : entries) {
    const std::optional<int> rank = number_of(device);
    if (!rank) return refused("`" + module + "` has no number of a rank, such as 0", {});
    const std::optional<int> layer = layer_of(module);
    if (layer && *layer >= kMaxLayers) return refused("`" + module + "` is no layer", {});
    if (layer) layers[*layer] = *rank;
  }
  if (layers.empty()) return refused("no entry names a layer, such as model.layers.0", {});
  return list_of_layers(layers, entries);
}

}  // namespace mgpu::lm
