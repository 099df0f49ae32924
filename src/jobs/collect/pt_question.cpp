#include "pt_question.hpp"

#include <algorithm>
#include <cstddef>

#include <mgpu/tensor/pickle_file.hpp>

namespace mgpu::jobs {
namespace {

using c10::IValue;
using c10::impl::GenericDict;
using c10::impl::GenericList;

IValue whole(std::int64_t value) {
  return IValue(value);
}

IValue text_or_none(const std::string& text) {
  return text.empty() ? IValue() : IValue(text);
}

IValue number_or_none(const std::optional<double>& value) {
  return value ? IValue(*value) : IValue();
}

IValue parent_of(const PtNode& node) {
  return node.parent == 0 ? IValue() : whole(node.parent);
}

GenericList list_of(const std::vector<std::int32_t>& values) {
  GenericList list = tensor::pickle_list();
  for (const std::int32_t value : values)
    list.push_back(whole(value));
  return list;
}

GenericDict metadata_of(const PtNode& node) {
  GenericDict dict = tensor::pickle_dict();
  dict.insert("visits", whole(node.visits));
  dict.insert("right", whole(node.right));
  const double share = node.visits > 0 ? static_cast<double>(node.right) / node.visits : 0.0;
  dict.insert("mc_leaf_mean", node.visits > 0 ? IValue(share) : IValue());
  dict.insert("std_error", node.standard_error);
  dict.insert("text", node.text);
  dict.insert("answer", node.answer ? text_or_none(*node.answer) : IValue());
  dict.insert("is_correct", node.answer ? IValue(node.right > 0) : IValue());
  return dict;
}

/// Adds to `dict` the members that the record of a path and the record of a tree node have in
/// common.
void add_shared(const PtNode& node, std::int64_t id, GenericDict& dict) {
  dict.insert("path_id", whole(id));
  dict.insert("agent_name", node.agent);
  dict.insert("agent_idx", whole(node.agent_index));
  dict.insert("score", number_or_none(node.score));
  dict.insert("prm_score", node.value);
}

GenericDict path_of(const PtNode& node, std::int64_t id) {
  GenericDict dict = tensor::pickle_dict();
  add_shared(node, id, dict);
  dict.insert("parent_path_id", parent_of(node));
  dict.insert("child_path_ids", list_of(node.children));
  dict.insert("metadata", metadata_of(node));
  const std::int64_t steps = node.latents ? node.latents->size(0) : 0;
  dict.insert("latent_history", node.latents ? IValue(*node.latents) : IValue());
  dict.insert("hidden_states",
              node.latents ? IValue(node.latents->select(0, steps - 1)) : IValue());
  dict.insert("num_latent_steps", whole(steps));
  return dict;
}

GenericDict tree_node_of(const PtNode& node, std::int64_t id) {
  GenericDict dict = tensor::pickle_dict();
  add_shared(node, id, dict);
  dict.insert("parent_id", parent_of(node));
  dict.insert("children_ids", list_of(node.children));
  dict.insert("is_leaf", node.children.empty());
  dict.insert("depth", whole(node.depth));
  return dict;
}

GenericDict tree_of(const PtQuestion& question) {
  GenericList nodes = tensor::pickle_list();
  GenericList edges = tensor::pickle_list();
  GenericList roots = tensor::pickle_list();
  std::int32_t max_depth = 0;
  std::int32_t id = 0;
  for (const PtNode& node : question.nodes) {
    ++id;
    nodes.push_back(tree_node_of(node, id));
    if (node.parent == 0) roots.push_back(whole(id));
    if (node.parent != 0) edges.push_back(list_of({node.parent, id}));
    max_depth = std::max(max_depth, node.depth);
  }
  GenericDict tree = tensor::pickle_dict();
  tree.insert("num_nodes", whole(std::ssize(question.nodes)));
  tree.insert("num_edges", whole(static_cast<std::int64_t>(edges.size())));
  tree.insert("max_depth", whole(max_depth));
  tree.insert("nodes", std::move(nodes));
  tree.insert("edges", std::move(edges));
  tree.insert("root_ids", std::move(roots));
  return tree;
}

}  // namespace

IValue record_of(const PtQuestion& question) {
  GenericList paths = tensor::pickle_list();
  for (const PtNode& node : question.nodes)
    paths.push_back(path_of(node, static_cast<std::int64_t>(paths.size()) + 1));
  GenericDict record = tensor::pickle_dict();
  record.insert("question_id", "q_" + std::to_string(question.index));
  record.insert("question", question.prompt);
  record.insert("gold_answer", text_or_none(question.gold_answer));
  record.insert("final_answer", text_or_none(question.final_answer));
  record.insert("is_correct", question.is_right);
  record.insert("tree_structure", tree_of(question));
  record.insert("paths", std::move(paths));
  return record;
}

}  // namespace mgpu::jobs
