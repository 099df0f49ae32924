#include "pt_reader.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>

#include <mgpu/base/error.hpp>
#include <mgpu/datasets/answers.hpp>
#include <mgpu/datasets/pass_rates.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/results/list_column.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "inputs.hpp"

namespace mgpu::jobs {
namespace {

/// Returns the names by which column node_agent counts.
std::vector<std::string> agent_names(const AgentKeys& keys) {
  std::vector<std::string> names;
  if (!keys.is_used) return names;
  for (const Agent& agent : read_agents(keys))
    names.push_back(agent.name);
  if (keys.method == AgentMethod::single) names.erase(names.begin(), names.end() - 1);
  return names;
}

/// Parses a JSON list of a text column. Errors: JsonError if the text is no such list.
template <class T>
T list_in(const std::string& text) {
  return formats::parse_json_object("{\"list\": " + text + "}").get<T>("list");
}

template <class T>
std::vector<T> values_in(const store::ListColumn& column, std::int64_t row) {
  const store::ReadLists lists = column.read(row, 1);
  const std::span<const T> values = lists.row<T>(0);
  return {values.begin(), values.end()};
}

}  // namespace

/// The columns that make a question. Those of agents and states are absent without them.
struct PtReader::Columns {
  using Lists = store::ListColumn;

  Columns(const std::filesystem::path& file, const AgentKeys& agents)
      : numbers(store::read_table(file, "samples")),
        prompts(file, "samples", "prompt"),
        gold_answers(file, "samples", "answer"),
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
    if (agents.is_used) {
      votes.emplace(file, "samples", "vote");
      agent_of.emplace(file, "samples", "node_agent");
      scores.emplace(file, "samples", "node_score");
    }
    if (store::has_lists(file, "samples", "latents")) {
      latent_steps.emplace(file, "samples", "node_latents");
      latents.emplace(file, "samples", "latents");
    }
    check();
  }

  void check() const {
    for (const store::TextColumn* column : {&prompts, &gold_answers, &answers, &steps})
      column->check_bytes();
    if (votes) votes->check_bytes();
    for (const Lists* column :
         {&path_right, &node_path, &node_step, &parents, &values, &errors, &visits, &right})
      column->check_bytes();
    for (const std::optional<Lists>* column : {&agent_of, &scores, &latent_steps, &latents})
      if (*column) (*column)->check_bytes();
  }

  store::ReadTable numbers;
  store::TextColumn prompts;
  store::TextColumn gold_answers;
  store::TextColumn answers;
  store::TextColumn steps;
  Lists path_right;
  Lists node_path;
  Lists node_step;
  Lists parents;
  Lists values;
  Lists errors;
  Lists visits;
  Lists right;
  std::optional<store::TextColumn> votes{};
  std::optional<Lists> agent_of{};
  std::optional<Lists> scores{};
  std::optional<Lists> latent_steps{};
  std::optional<Lists> latents{};
};

/// The lists of a row. All but the last three have an item per node.
struct PtReader::Row {
  std::vector<std::int32_t> path{};
  std::vector<std::int32_t> step{};
  std::vector<std::int32_t> parent{};
  std::vector<double> value{};
  std::vector<double> error{};
  std::vector<std::int32_t> visits{};
  std::vector<std::int32_t> right{};
  std::vector<std::int32_t> agent{};              // empty: steps of text
  std::vector<double> score{};                    // empty: steps of text
  std::vector<std::vector<std::string>> steps{};  // of each path
  std::vector<std::string> answers{};             // of each path
  std::vector<std::uint8_t> path_right{};
};

PtReader::PtReader(const std::filesystem::path& results, const CollectKeys& keys)
    : path_(results),
      keys_(keys),
      agents_(agent_names(keys.agents)),
      columns_(std::make_unique<Columns>(results, keys.agents)) {}

PtReader::~PtReader() = default;

std::int64_t PtReader::rows() const {
  return columns_->prompts.rows();
}

bool PtReader::is_used(std::int64_t row) const {
  const auto paths = columns_->numbers.column("n_paths").values<std::int32_t>();
  return paths[static_cast<std::size_t>(row)] > 0;
}

PtReader::Row PtReader::read_row(std::int64_t row) const {
  const Columns& from = *columns_;
  Row read{
      values_in<std::int32_t>(from.node_path, row), values_in<std::int32_t>(from.node_step, row),
      values_in<std::int32_t>(from.parents, row),   values_in<double>(from.values, row),
      values_in<double>(from.errors, row),          values_in<std::int32_t>(from.visits, row),
      values_in<std::int32_t>(from.right, row)};
  if (from.agent_of) read.agent = values_in<std::int32_t>(*from.agent_of, row);
  if (from.scores) read.score = values_in<double>(*from.scores, row);
  read.steps = list_in<std::vector<std::vector<std::string>>>(from.steps.read(row, 1).at(0));
  read.answers = list_in<std::vector<std::string>>(from.answers.read(row, 1).at(0));
  read.path_right = values_in<std::uint8_t>(from.path_right, row);
  return read;
}

PtQuestion PtReader::read(std::int64_t row) const {
  const Columns& from = *columns_;
  PtQuestion question;
  const auto indices = from.numbers.column("question_index").values<std::int64_t>();
  question.index = indices[static_cast<std::size_t>(row)];
  question.prompt = from.prompts.read(row, 1).at(0);
  question.gold_answer = from.gold_answers.read(row, 1).at(0);
  try {
    const Row read = read_row(row);
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
    refuse(row);
  } catch (const formats::JsonError&) {
    refuse(row);
  }
  return question;
}

/// Errors: Failure E605 (exit 65).
void PtReader::refuse(std::int64_t row) const {
  throw Failure({"E605",
                 ExitCode::data,
                 "the steps of row " + std::to_string(row) + " do not fit the nodes of its tree",
                 {"  --> " + path_.string()},
                 "run job collect again"});
}

/// Returns node `node` of a row, without its children, depth and states.
/// Errors: std::out_of_range if the lists contradict each other.
PtNode PtReader::node_of(const Row& row, std::size_t node) const {
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

/// Adds the text of all steps after the parent, and the answer of a solution that ends here.
/// Errors: std::out_of_range if the lists contradict each other.
void PtReader::add_solution(const Row& row, std::size_t node, PtNode& result) const {
  const auto path = static_cast<std::size_t>(row.path[node]);
  const std::vector<std::string>& steps = row.steps.at(path);
  const std::int32_t first = row.step[static_cast<std::size_t>(result.parent)];
  const std::int32_t end = row.step[node];
  if (first < 0 || first >= end) throw std::out_of_range("step");
  for (std::int32_t step = first; step < end; ++step)
    result.text += steps.at(static_cast<std::size_t>(step));
  if (end == std::ssize(steps)) result.answer = row.answers.at(path);
}

/// Adds the states of the nodes. All are parts of one tensor, so a file has one storage per
/// question.
/// Errors: std::out_of_range if the lists contradict each other.
void PtReader::add_latents(std::int64_t row, PtQuestion& question) const {
  const store::ListColumn& column = *columns_->latents;
  const std::vector<std::int32_t> steps = values_in<std::int32_t>(*columns_->latent_steps, row);
  const store::ReadColumn values = column.read(row, 1).values;
  const auto type = column.spec().type == store::ColumnType::f16 ? at::kHalf : at::kFloat;
  const at::Tensor all =  // [M of all nodes, D]
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

/// Adds the answer of all solutions together. Agents have voted with their scores. Otherwise it is
/// the most frequent answer of the sampled solutions, the first one of equally frequent ones.
/// Errors: std::out_of_range if the lists contradict each other.
void PtReader::add_vote(std::int64_t row, const Row& read, PtQuestion& question) const {
  if (columns_->votes) {
    const auto right = columns_->numbers.column("vote_right").values<std::uint8_t>();
    question.final_answer = columns_->votes->read(row, 1).at(0);
    question.is_right = right[static_cast<std::size_t>(row)] != 0;
    return;
  }
  const auto sampled = static_cast<std::size_t>(keys_.num_paths);  // later ones are rollouts
  std::vector<std::optional<std::string>> given;
  for (std::size_t path = 0; path < std::min(sampled, read.answers.size()); ++path)
    given.push_back(read.answers[path].empty() ? std::nullopt : std::optional(read.answers[path]));
  const auto& dataset = keys_.rows.dataset;
  const std::vector<std::int32_t> firsts =
      datasets::first_equal(given, [&](const std::string& a, const std::string& b) {
        return dataset ? dataset->dataset->is_same(a, b) : datasets::same_answer(a, b);
      });
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
