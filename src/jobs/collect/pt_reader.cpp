#include "pt_reader.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>

#include <mgpu/datasets/pass_rates.hpp>
#include <mgpu/formats/json_value.hpp>

#include "inputs.hpp"
#include "judge.hpp"
#include "tree_lists.hpp"

namespace mgpu::jobs {
namespace {

/// Returns the names of the agents; an empty list if the run has no agents. Column node_agent of
/// table `samples` has indices into this list.
std::vector<std::string> agent_names(const AgentKeys& keys) {
  std::vector<std::string> names;
  if (!keys.is_used) return names;
  for (const Agent& agent : read_agents(keys))
    names.push_back(agent.name);
  if (keys.method == AgentMethod::single) names.erase(names.begin(), names.end() - 1);
  return names;
}

}  // namespace

PtReader::PtReader(const std::filesystem::path& results, const CollectKeys& keys)
    : path_(results),
      keys_(keys),
      agents_(agent_names(keys.agents)),
      columns_(results, keys.agents) {}

std::int64_t PtReader::rows() const {
  return columns_.prompts.rows();
}

bool PtReader::is_used(std::int64_t row) const {
  const auto paths = columns_.numbers.column("n_paths").values<std::int32_t>();
  return paths[static_cast<std::size_t>(row)] > 0;
}

PtQuestion PtReader::read(std::int64_t row) const {
  const PtColumns& from = columns_;
  PtQuestion question;
  const auto indices = from.numbers.column("question_index").values<std::int64_t>();
  question.index = indices[static_cast<std::size_t>(row)];
  question.prompt = from.prompts.read(row, 1).at(0);
  question.gold_answer = from.gold_answers.read(row, 1).at(0);
  try {
    const PtRow read = from.read(row);
    for (std::size_t node = 1; node < read.parent.size(); ++node) {
      question.nodes.push_back(node_of(read, node));
      PtNode& added = question.nodes.back();
      if (added.parent == 0) continue;
      PtNode& parent = question.nodes.at(static_cast<std::size_t>(added.parent) - 1);
      parent.children.push_back(static_cast<std::int32_t>(node));
      added.depth = parent.depth + 1;
    }
    if (from.latents) add_latents(row, question);
    add_vote(row, read, question);
  } catch (const std::out_of_range&) {
    throw contradiction(path_, "row " + std::to_string(row));
  } catch (const formats::JsonError&) {
    throw contradiction(path_, "row " + std::to_string(row));
  }
  return question;
}

/// Returns node `node` of a row, without its children, depth and states.
/// Errors: std::out_of_range if the lists of the row contradict each other.
PtNode PtReader::node_of(const PtRow& row, std::size_t node) const {
  PtNode result;
  result.parent = row.parent.at(node);
  if (result.parent < 0 || static_cast<std::size_t>(result.parent) >= node)
    throw std::out_of_range("parent");
  result.agent = "step";
  result.agent_index = row.step.at(node) - 1;
  if (!agents_.empty()) {
    result.agent_index = row.agent.at(node);
    result.agent = agents_.at(static_cast<std::size_t>(result.agent_index));
    result.score = row.score.at(node);
  }
  result.value = row.value.at(node);
  result.standard_error = row.error.at(node);
  result.visits = row.visits.at(node);
  result.right = row.right.at(node);
  if (row.path.at(node) >= 0) add_solution(row, node, result);
  return result;
}

/// Adds the texts of the node's steps to `result`. These steps begin after the last step of the
/// parent node. If a solution ends with this node, also adds the answer of the solution.
/// Errors: std::out_of_range if the lists of the row contradict each other.
void PtReader::add_solution(const PtRow& row, std::size_t node, PtNode& result) const {
  const auto path = static_cast<std::size_t>(row.path[node]);
  const std::vector<std::string>& steps = row.steps.at(path);
  const std::int32_t first = row.step[static_cast<std::size_t>(result.parent)];
  const std::int32_t end = row.step[node];
  if (first < 0 || first >= end) throw std::out_of_range("step");
  for (std::int32_t step = first; step < end; ++step)
    result.text += steps.at(static_cast<std::size_t>(step));
  if (end == std::ssize(steps)) result.answer = row.answers.at(path);
}

/// Adds the latent states of the nodes. The states are views of one tensor, so the exported file
/// has one storage per question.
/// Errors: std::out_of_range if the lists of the row contradict each other.
void PtReader::add_latents(std::int64_t row, PtQuestion& question) const {
  const store::ListColumn& column = *columns_.latents;
  const std::vector<std::int32_t> steps = values_in<std::int32_t>(*columns_.latent_steps, row);
  const store::ReadColumn values = column.read(row, 1).values;
  const auto type = column.spec().type == store::ColumnType::f16 ? at::kHalf : at::kFloat;
  const at::Tensor all =  // [latent steps of all nodes, hidden size]
      at::empty({column.items_of(row), column.spec().width}, at::TensorOptions(type));
  if (all.nbytes() != values.bytes.size()) throw std::out_of_range("latents");
  if (!values.bytes.empty()) std::memcpy(all.data_ptr(), values.bytes.data(), all.nbytes());
  std::int64_t first = steps.at(0);
  for (std::size_t n = 0; n < question.nodes.size(); ++n) {
    const std::int32_t count = steps.at(n + 1);
    if (count < 0 || first + count > all.size(0)) throw std::out_of_range("latents");
    if (count > 0) question.nodes[n].latents = all.narrow(0, first, count);
    first += count;
  }
}

/// Adds the final answer of a question, and whether this answer is right. With agents, the final
/// answer is the stored vote. Without agents, the final answer is the most frequent answer of the
/// sampled solutions. If several answers are equally frequent, the first of them is chosen.
/// Errors: std::out_of_range if the lists of the row contradict each other.
void PtReader::add_vote(std::int64_t row, const PtRow& read, PtQuestion& question) const {
  if (columns_.votes) {
    const auto right = columns_.numbers.column("vote_right").values<std::uint8_t>();
    question.final_answer = columns_.votes->read(row, 1).at(0);
    question.is_right = right[static_cast<std::size_t>(row)] != 0;
    return;
  }
  const auto sampled = static_cast<std::size_t>(keys_.num_paths);  // later paths are rollouts
  std::vector<std::optional<std::string>> given;
  for (std::size_t path = 0; path < std::min(sampled, read.answers.size()); ++path)
    given.push_back(read.answers[path].empty() ? std::nullopt : std::optional(read.answers[path]));
  const std::vector<std::int32_t> firsts = datasets::first_equal(given, dataset_of(keys_.rows));
  std::int64_t most = 0;
  for (std::size_t path = 0; path < firsts.size(); ++path) {
    if (firsts[path] != static_cast<std::int32_t>(path)) continue;
    const std::int64_t votes = std::ranges::count(firsts, firsts[path]);
    if (votes <= most) continue;
    most = votes;
    question.final_answer = read.answers[path];
    question.is_right = read.path_right.at(path) != 0;
  }
}

}  // namespace mgpu::jobs
