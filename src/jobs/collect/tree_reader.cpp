#include "tree_reader.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/results/list_column.hpp>
#include <mgpu/store/results/read_texts.hpp>

namespace mgpu::jobs {
namespace {

/// Makes the failure for a file with these columns that no run has written.
Failure contradiction(const std::filesystem::path& path, const std::string& where) {
  return Failure({"E605",
                  ExitCode::data,
                  "the steps of " + where + " do not fit the nodes of the trees",
                  {"  --> " + path.string()},
                  "run job collect again"});
}

/// Parses a JSON list of a text column. Errors: JsonError for another text.
template <class T>
T parse_list(const std::string& text) {
  return formats::parse_json_object("{\"list\": " + text + "}").get<T>("list");
}

/// The texts of a row.
struct TreeTexts {
  std::vector<std::vector<std::string>> steps{};  // of each path
  std::vector<std::string> answers{};             // of each path
};

}  // namespace

std::int64_t ReadTree::right_paths() const {
  return std::ranges::count_if(paths, [](const ReadPath& path) { return path.is_right; });
}

/// The columns that make a tree.
struct TreeReader::Columns {
  explicit Columns(const std::filesystem::path& file)
      : prompts(file, "samples", "prompt"),
        answers(file, "samples", "answers"),
        steps(file, "samples", "steps"),
        path_right(file, "samples", "path_right"),
        node_path(file, "samples", "node_path"),
        values(file, "samples", "node_value"),
        errors(file, "samples", "node_std_error"),
        visits(file, "samples", "node_visits"),
        right(file, "samples", "node_right") {
    for (const store::TextColumn* column : {&prompts, &answers, &steps})
      column->check_bytes();
    for (const store::ListColumn* column : {&path_right, &node_path})
      column->check_bytes();
    for (const store::ListColumn* column : {&values, &errors, &visits, &right}) {
      column->check_bytes();
      if (!column->has_lengths_of(node_path)) throw contradiction(file, "a row");
    }
  }

  store::TextColumn prompts;
  store::TextColumn answers;
  store::TextColumn steps;
  store::ListColumn path_right;
  store::ListColumn node_path;
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
  for (std::size_t p = 0; p < right.size(); ++p) {
    tree.paths.push_back({right[p] != 0, std::move(texts.answers[p])});
    for (std::string& text : texts.steps[p])
      tree.paths.back().steps.push_back({std::move(text)});
  }
  add_nodes(row, tree);
  return tree;
}

/// Adds the numbers of the nodes to the steps of a row. The first node is the root.
void TreeReader::add_nodes(std::int64_t row, ReadTree& tree) const {
  const store::ReadLists paths = columns_->node_path.read(row, 1);
  const store::ReadLists values = columns_->values.read(row, 1);
  const store::ReadLists errors = columns_->errors.read(row, 1);
  const store::ReadLists visits = columns_->visits.read(row, 1);
  const store::ReadLists right = columns_->right.read(row, 1);
  const std::span<const std::int32_t> path_of = paths.row<std::int32_t>(0);
  std::size_t node = path_of.empty() ? 0 : 1;
  for (std::size_t p = 0; p < tree.paths.size(); ++p)
    for (ReadStep& step : tree.paths[p].steps) {
      if (node >= path_of.size() || path_of[node] != static_cast<std::int32_t>(p))
        throw contradiction(path_, "row " + std::to_string(row));
      step.value = values.row<double>(0)[node];
      step.standard_error = errors.row<double>(0)[node];
      step.visits = visits.row<std::int32_t>(0)[node];
      step.right = right.row<std::int32_t>(0)[node];
      ++node;
    }
  if (node != path_of.size()) throw contradiction(path_, "row " + std::to_string(row));
}

}  // namespace mgpu::jobs
