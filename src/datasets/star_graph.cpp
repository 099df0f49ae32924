// Defines data set star_graph, whose rows ask for paths in star graphs. Source: Bachmann and
// Nagarajan, The pitfalls of next-token prediction (ICML 2024).
#include "star_graph.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include <mgpu/config/common_keys.hpp>
#include <mgpu/datasets/registry.hpp>
#include <mgpu/formats/json_value.hpp>

#include "characters.hpp"

namespace mgpu::datasets {
namespace {

constexpr const char* kStarGraph = "star_graph";
constexpr const char* kNodesKey = "data.star_graph.nodes";
constexpr const char* kFormKey = "data.star_graph.form";
constexpr const char* kArmKey = "data.star_graph.arm";

using formats::JsonValue;

JsonValue list_of_ids(const std::vector<std::int64_t>& ids) {
  return JsonValue::List(ids.begin(), ids.end());
}

/// Selects how rows present a star graph.
struct RowForm {
  bool has_texts = false;   // texts instead of token ids
  bool random_arm = false;  // completions follow a random arm instead of the one to the goal
};

class StarGraphRows final : public Dataset {
public:
  StarGraphRows(const StarGraphs& graphs, SplitSizes sizes, const StarGraphShape& shape,
                RowForm form)
      : graphs_(graphs), sizes_(sizes), nodes_(shape.nodes), length_(shape.path), form_(form) {}

  std::int64_t rows(Split split) const override { return sizes_.of(split); }

  std::string row(Split split, std::int64_t index) const override {
    const StarGraph graph = graphs_.row(sizes_.number(split, index));
    if (form_.has_texts)
      return formats::to_json_line(JsonValue::Members{
          {"prompt", graph.prompt()},
          {"completion", form_.random_arm ? graph.random_arm_text() : graph.path_text()},
          {"answer", graph.path_text()}});
    return formats::to_json_line(JsonValue::Members{
        {"token_ids", list_of_ids(graph.prompt_ids(nodes_))},
        {"completion_ids", list_of_ids(form_.random_arm ? graph.random_arm : graph.path)}});
  }

  bool has_check() const override { return true; }

  /// Returns 1 if the answer begins with the path, otherwise 0.
  double score(Split split, std::int64_t index, const Answer& answer) const override {
    const StarGraph graph = graphs_.row(sizes_.number(split, index));
    return (form_.has_texts
                ? begins_with(answer.text, graph.path_text())
                : answer.ids.size() >= graph.path.size() &&
                      std::ranges::equal(answer.ids.first(graph.path.size()), graph.path))
               ? 1.0
               : 0.0;
  }

  /// Returns the nodes at the start of the answer, such as "4,1,7", but at most as many as a path
  /// has. In an answer of token ids, every id counts as a node. Returns nullopt if the answer does
  /// not begin with a node.
  std::optional<std::string> given_answer(const Answer& answer) const override {
    const auto length = static_cast<std::size_t>(length_);
    std::string nodes = form_.has_texts ? first_nodes(answer.text, length) : "";
    if (!form_.has_texts)
      for (const std::int64_t id : answer.ids.first(std::min(length, answer.ids.size())))
        nodes += (nodes.empty() ? "" : ",") + std::to_string(id);
    if (nodes.empty()) return std::nullopt;
    return nodes;
  }

  /// Compares paths as texts, because 4,123 is a path of two nodes instead of a number.
  bool is_same(const std::string& a, const std::string& b) const override { return a == b; }

private:
  /// Returns the nodes at the start of a text, such as "4,1,7", but at most `most` nodes.
  static std::string first_nodes(std::string_view text, std::size_t most) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    std::size_t end = 0;
    for (std::size_t commas = 0; end < text.size(); ++end) {
      const bool is_comma = text[end] == ',' && end > 0 && text[end - 1] != ',';
      if (is_comma && ++commas == most) break;
      if (!is_comma && !is_digit(text[end])) break;
    }
    while (end > 0 && text[end - 1] == ',')
      --end;
    return std::string(text.substr(0, end));
  }

  static bool begins_with(std::string_view text, const std::string& path) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    if (!text.starts_with(path)) return false;
    return text.size() == path.size() || !is_digit(text[path.size()]);
  }

  StarGraphs graphs_;
  SplitSizes sizes_;
  std::int64_t nodes_;   // number of labels
  std::int64_t length_;  // number of nodes of a path
  RowForm form_;
};

void add_star_graph_keys(KeyTable& table) {
  table.add({.name = "data.star_graph.arms",
             .type = KeyType::integer,
             .default_value = "2",
             .summary = "d of star graphs G(d, l): paths that begin at the start",
             .min = 2,
             .max = 100});
  table.add({.name = "data.star_graph.path",
             .type = KeyType::integer,
             .default_value = "5",
             .summary = "l of star graphs G(d, l): nodes of a path, with the start and the goal",
             .min = 2,
             .max = 100});
  table.add({.name = kNodesKey,
             .type = KeyType::integer,
             .default_value = "50",
             .summary = "labels that nodes of star graphs can have",
             .min = 3,
             .max = 10000});
  table.add({.name = kFormKey,
             .type = KeyType::choice,
             .default_value = "ids",
             .summary = "rows of star_graph: token ids, a node each, or texts for a tokenizer",
             .choices = {"ids", "texts"}});
  table.add({.name = kArmKey,
             .type = KeyType::choice,
             .default_value = "goal",
             .summary = "arm that completions of star_graph follow: the one to the goal, or a "
                        "random one, which teaches the edges without the goal",
             .choices = {"goal", "random"}});
  add_rows_key(table, kStarGraph);
}

bool has_star_graph_texts(const Config& config) {
  return config.is(kFormKey, "texts");
}

std::unique_ptr<Dataset> make_star_graphs(const Config& config) {
  const StarGraphShape shape{config.integer("data.star_graph.arms"),
                             config.integer("data.star_graph.path"), config.integer(kNodesKey)};
  const std::int64_t needed = 1 + shape.edges();
  if (shape.nodes < needed)
    throw config.problem("E124", kNodesKey,
                         "a star graph G(" + std::to_string(shape.arms) + ", " +
                             std::to_string(shape.path) + ") has " + std::to_string(needed) +
                             " nodes, and there are only " + std::to_string(shape.nodes) +
                             " labels",
                         std::string(kNodesKey) + "=" + std::to_string(needed));
  const StarGraphs graphs(shape, read_seed(config));
  const SplitSizes sizes =
      split_sizes(config, kStarGraph, config.integers("data.star_graph.rows"), graphs.rows());
  return std::make_unique<StarGraphRows>(
      graphs, sizes, shape, RowForm{has_star_graph_texts(config), config.is(kArmKey, "random")});
}

}  // namespace

DatasetEntry star_graph_dataset() {
  return {.name = kStarGraph,
          .summary = "paths from a start to a goal in star graphs G(d, l)",
          .add_keys = add_star_graph_keys,
          .has_texts = has_star_graph_texts,
          .make = make_star_graphs};
}

}  // namespace mgpu::datasets
