#include "tree_reader.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/results/list_column.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "tree_lists.hpp"

namespace mgpu::jobs {
namespace {

/// The texts of a row.
struct TreeTexts {
  std::vector<std::vector<std::string>> steps{};  // texts of the steps of each path
  std::vector<std::string> answers{};             // answer of each path
};

}  // namespace

std::int64_t ReadTree::right_paths() const {
  return std::ranges::count_if(paths, [](const ReadPath& path) { return path.is_right; });
}

/// The columns of table `samples` from which TreeReader makes a tree.
struct TreeReader::Columns {
  explicit Columns(const std::filesystem::path& file)
      : prompts(file, "samples", "prompt"),
        answers(file, "samples", "answers"),
        steps(file, "samples", "steps"),
        path_right(file, "samples", "path_right"),
        node_path(file, "samples", "node_path"),
        node_step(file, "samples", "node_step"),
        parents(file, "samples", "node_parent"),
        values(file, "samples", "node_value"),
        errors(file, "samples", "node_std_error"),
        visits(file, "samples", "node_visits"),
        right(file, "samples", "node_right") {
    for (const store::TextColumn* column : {&prompts, &answers, &steps})
      column->check_bytes();
    for (const store::ListColumn* column : {&path_right, &node_path})
      column->check_bytes();
    for (const store::ListColumn* column :
         {&node_step, &parents, &values, &errors, &visits, &right}) {
      column->check_bytes();
      if (!column->has_lengths_of(node_path)) throw contradiction(file, "a row");
    }
  }

  store::TextColumn prompts;
  store::TextColumn answers;
  store::TextColumn steps;
  store::ListColumn path_right;
  store::ListColumn node_path;
  store::ListColumn node_step;
  store::ListColumn parents;
  store::ListColumn values;
  store::ListColumn errors;
  store::ListColumn visits;
  store::ListColumn right;
};

TreeReader::TreeReader(const std::filesystem::path& results)
    : path_(results), columns_(std::make_unique<Columns>(results)) {}

TreeReader::~TreeReader() = default;

std::int64_t TreeReader::rows() const {
  return columns_->prompts.rows();
}

ReadTree TreeReader::read(std::int64_t row) const {
  ReadTree tree{columns_->prompts.read(row, 1).at(0)};
  TreeTexts texts;
  try {
    texts.steps =
        parse_list<std::vector<std::vector<std::string>>>(columns_->steps.read(row, 1).at(0));
    texts.answers = parse_list<std::vector<std::string>>(columns_->answers.read(row, 1).at(0));
  } catch (const formats::JsonError&) {
    throw contradiction(path_, "row " + std::to_string(row));
  }
  const store::ReadLists is_right = columns_->path_right.read(row, 1);
  const std::span<const std::uint8_t> right = is_right.row<std::uint8_t>(0);
  if (texts.answers.size() != right.size() || texts.steps.size() != right.size())
    throw contradiction(path_, "row " + std::to_string(row));
  for (std::size_t p = 0; p < right.size(); ++p)
    tree.paths.push_back({right[p] != 0, std::move(texts.answers[p])});
  try {
    add_steps(row, texts.steps, tree);
  } catch (const std::out_of_range&) {
    throw contradiction(path_, "row " + std::to_string(row));
  }
  return tree;
}

/// Adds to each path its nodes, from the first node after the root to the last node of the path.
/// `texts` has the texts of the steps of each path. The text of a node joins the texts of the steps
/// after its parent node, up to the last step of the node.
/// Errors: std::out_of_range if the lists of the row contradict each other.
void TreeReader::add_steps(std::int64_t row, const std::vector<std::vector<std::string>>& texts,
                           ReadTree& tree) const {
  const store::ReadLists steps = columns_->node_step.read(row, 1);
  const store::ReadLists parents = columns_->parents.read(row, 1);
  const store::ReadLists values = columns_->values.read(row, 1);
  const store::ReadLists errors = columns_->errors.read(row, 1);
  const store::ReadLists visits = columns_->visits.read(row, 1);
  const store::ReadLists right = columns_->right.read(row, 1);
  const std::vector<std::size_t> ends = ends_of_paths(row, texts);
  for (std::size_t p = 0; p < ends.size(); ++p) {
    std::size_t node = ends[p];
    while (node != 0) {
      const std::int32_t parent = parents.row<std::int32_t>(0)[node];
      if (parent < 0 || static_cast<std::size_t>(parent) >= node) throw std::out_of_range("parent");
      ReadStep step{"", values.row<double>(0)[node], errors.row<double>(0)[node],
                    visits.row<std::int32_t>(0)[node], right.row<std::int32_t>(0)[node]};
      const std::int32_t first = steps.row<std::int32_t>(0)[static_cast<std::size_t>(parent)];
      const std::int32_t end = steps.row<std::int32_t>(0)[node];
      if (first >= end) throw std::out_of_range("step");
      for (std::int32_t s = first; s < end; ++s)
        step.text += texts[p].at(static_cast<std::size_t>(s));
      tree.paths[p].steps.push_back(std::move(step));
      node = static_cast<std::size_t>(parent);
    }
    std::ranges::reverse(tree.paths[p].steps);
  }
}

/// Returns for each path the index of its last node, whose step is the last step of the path.
/// Errors: std::out_of_range if a path has no such node, or a node has steps that its path lacks.
std::vector<std::size_t> TreeReader::ends_of_paths(
    std::int64_t row, const std::vector<std::vector<std::string>>& texts) const {
  const store::ReadLists paths = columns_->node_path.read(row, 1);
  const store::ReadLists steps = columns_->node_step.read(row, 1);
  const std::span<const std::int32_t> path_of = paths.row<std::int32_t>(0);
  std::vector<std::size_t> ends(texts.size(), 0);
  for (std::size_t node = 1; node < path_of.size(); ++node) {
    if (path_of[node] < 0) continue;  // no solution contains the node
    const auto path = static_cast<std::size_t>(path_of[node]);
    const std::int32_t step = steps.row<std::int32_t>(0)[node];
    if (step < 1 || step > std::ssize(texts.at(path))) throw std::out_of_range("step");
    if (step == std::ssize(texts[path])) ends[path] = node;
  }
  if (std::ranges::find(ends, std::size_t{0}) != ends.end()) throw std::out_of_range("end");
  return ends;
}

}  // namespace mgpu::jobs
