#include "table.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <type_traits>

#include <mgpu/base/half_float.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/results/columns.hpp>

namespace mgpu::jobs {
namespace {

using formats::JsonValue;

/// A question with its solutions and its tree. The referenced objects must outlive this object.
struct QuestionRow {
  std::int64_t question = 0;  // index in the data set
  const Question* prompt = nullptr;
  const CollectedQuestion* collected = nullptr;
};

using QuestionColumns = store::Columns<QuestionRow>;

/// Returns the results of get(path) for all paths of the row.
template <class Get>
auto of_paths(const QuestionRow& row, Get get) {
  std::vector<std::invoke_result_t<Get, const Solution&>> values;
  for (const Solution& path : row.collected->paths)
    values.push_back(get(path));
  return values;
}

/// Adds a list column. The list of a row has the value get(node) for each StepNode of the row's
/// tree.
template <class Get>
void add_of_nodes(QuestionColumns& columns, QuestionColumns::About about, Get get) {
  columns.add(std::move(about), [get](const QuestionRow& row) {
    std::vector<std::invoke_result_t<Get, const StepNode&>> values;
    for (const StepNode& node : row.collected->tree.nodes)
      values.push_back(get(node));
    return values;
  });
}

/// Returns the number of nodes, without the root, for which is_counted(node) is true.
template <class IsCounted>
std::int32_t count_steps(const QuestionRow& row, IsCounted is_counted) {
  return static_cast<std::int32_t>(std::ranges::count_if(
      row.collected->tree.nodes,
      [&](const StepNode& node) { return node.step > 0 && is_counted(node); }));
}

/// Returns how many of the sampled solutions are right: the number of right answers that the root
/// counts.
std::int32_t right_paths(const QuestionRow& row) {
  const std::vector<StepNode>& nodes = row.collected->tree.nodes;
  return nodes.empty() ? 0 : nodes.front().visits.right;
}

/// Returns for each path the index in column output_ids at which the tokens of the path begin. One
/// more element at the end is the number of tokens of all paths.
std::vector<std::int32_t> offsets_of(const QuestionRow& row) {
  std::vector<std::int32_t> offsets{0};
  for (const Solution& path : row.collected->paths)
    offsets.push_back(offsets.back() + static_cast<std::int32_t>(path.completion.ids.size()));
  return offsets;
}

/// Returns one number for each node. If `is_first` is true, it is the index of the node's first
/// token in column output_ids. Otherwise it is the number of the node's tokens, which are the
/// tokens of its steps. A node's steps begin after the last step of its parent. Both numbers are 0
/// for the root and for nodes without a solution.
std::vector<std::int32_t> tokens_of_nodes(const QuestionRow& row, bool is_first) {
  const std::vector<std::int32_t> offsets = offsets_of(row);
  const std::vector<StepNode>& nodes = row.collected->tree.nodes;
  std::vector<std::int32_t> values;
  for (const StepNode& node : nodes) {
    if (node.step == 0 || node.path < 0) {
      values.push_back(0);
      continue;
    }
    const auto place = static_cast<std::size_t>(node.path);
    const Solution& path = row.collected->paths[place];
    const std::int64_t before = path.tokens_of(nodes[static_cast<std::size_t>(node.parent)].step);
    const std::int64_t value =
        is_first ? offsets[place] + before : path.tokens_of(node.step) - before;
    values.push_back(static_cast<std::int32_t>(value));
  }
  return values;
}

std::vector<std::int32_t> output_ids_of(const QuestionRow& row) {
  std::vector<std::int32_t> ids;
  for (const Solution& path : row.collected->paths)
    ids.insert(ids.end(), path.completion.ids.begin(), path.completion.ids.end());
  return ids;
}

std::string steps_text(const QuestionRow& row) {
  JsonValue::List paths;
  for (const Solution& path : row.collected->paths) {
    JsonValue::List steps;
    for (const rows::TextStep& step : path.steps)
      steps.emplace_back(step.text);
    paths.emplace_back(std::move(steps));
  }
  return formats::to_json_line(paths, formats::BadUtf8::replace);
}

std::string answers_text(const QuestionRow& row) {
  JsonValue::List answers;
  for (const Solution& path : row.collected->paths)
    answers.emplace_back(path.answer.answer);
  return formats::to_json_line(answers, formats::BadUtf8::replace);
}

/// Returns what ended a path: 0 for a stop token, 1 for the limit collect.max_new_tokens, and 2 for
/// the last position of the model.
std::uint8_t finish_code(const Solution& path) {
  switch (path.completion.reason) {
    case lm::FinishReason::length:
      return 1;
    case lm::FinishReason::context:
      return 2;
    case lm::FinishReason::stop_id:
    case lm::FinishReason::stop_text:
      break;
  }
  return 0;
}

void add_counts(QuestionColumns& columns) {
  using Row = QuestionRow;
  columns.add({"question_index", "row of the question in the data set, from 0"},
              [](const Row& row) { return row.question; });
  columns.add(
      {"n_prompt_tokens", "length of the question, or of the prompts of all agents", "tokens"},
      [](const Row& row) { return static_cast<std::int32_t>(row.prompt->ids.size()); });
  columns.add(
      {"n_paths",
       "solutions of the question: those that were sampled, and rollouts that searches halved"},
      [](const Row& row) { return static_cast<std::int32_t>(row.collected->paths.size()); });
  columns.add({"n_right", "sampled solutions that are right"}, right_paths);
  columns.add({"n_steps", "nodes of the tree, without the root"}, [](const Row& row) {
    return count_steps(row, [](const StepNode&) { return true; });
  });
  columns.add({"n_steps_0", "nodes with value 0, without the root"}, [](const Row& row) {
    return count_steps(row, [](const StepNode& node) { return node.value == 0.0; });
  });
  columns.add({"n_steps_1", "nodes with value 1, without the root"}, [](const Row& row) {
    return count_steps(row, [](const StepNode& node) { return node.value == 1.0; });
  });
  columns.add({"n_rollouts", "rollouts of all nodes"},
              [](const Row& row) { return row.collected->rollouts; });
  columns.add({"n_rollout_tokens",
               "tokens that all rollouts drew, or that agents drew before the judger", "tokens"},
              [](const Row& row) { return row.collected->rollout_tokens; });
}

void add_paths(QuestionColumns& columns) {
  using Row = QuestionRow;
  columns.add({"path_right", "1: the solution is right"}, [](const Row& row) {
    return of_paths(
        row, [](const Solution& path) -> std::uint8_t { return path.answer.is_right ? 1 : 0; });
  });
  columns.add({"path_finish",
               "what ended the solution: 0 a stop token, 1 collect.max_new_tokens, 2 no position "
               "was left"},
              [](const Row& row) { return of_paths(row, finish_code); });
  columns.add({"path_log_prob", "sum over the solution's tokens", "nats"}, [](const Row& row) {
    return of_paths(row, [](const Solution& path) {
      const std::vector<float>& values = path.completion.log_probs;
      return std::accumulate(values.begin(), values.end(), 0.0);
    });
  });
  columns.add({"path_offsets",
               "first token of each solution in output_ids, and then the number of all tokens"},
              offsets_of);
  columns.add({"output_ids", "token ids of all solutions, one after the other"}, output_ids_of);
  columns.add({"prompt_ids", "token ids of the question"}, [](const Row& row) {
    return std::vector<std::int32_t>(row.prompt->ids.begin(), row.prompt->ids.end());
  });
}

void add_tree(QuestionColumns& columns) {
  using Row = QuestionRow;
  add_of_nodes(columns,
               {"node_path", "solution of the node, from 0; -1: the root, or without a solution"},
               [](const StepNode& node) { return node.path; });
  add_of_nodes(columns, {"node_step", "steps of its solution up to its end; 0: the root"},
               [](const StepNode& node) { return node.step; });
  add_of_nodes(columns, {"node_parent", "node before it, an index in this list; -1: the root"},
               [](const StepNode& node) { return node.parent; });
  columns.add({"node_first", "first token after its parent, in output_ids; the root has 0"},
              [](const Row& row) { return tokens_of_nodes(row, true); });
  columns.add({"node_tokens", "tokens after its parent; the root has 0", "tokens"},
              [](const Row& row) { return tokens_of_nodes(row, false); });
  add_of_nodes(columns, {"node_visits", "answers found below the node"},
               [](const StepNode& node) { return node.visits.count; });
  add_of_nodes(columns, {"node_right", "right answers among them"},
               [](const StepNode& node) { return node.visits.right; });
  add_of_nodes(columns, {"node_value", "value of the node, by collect.label"},
               [](const StepNode& node) { return node.value; });
  add_of_nodes(columns, {"node_std_error", "standard error of node_right / node_visits"},
               [](const StepNode& node) { return node.standard_error; });
  columns.add({"child_offsets", "first child of each node in `children`, and then their number"},
              [](const Row& row) { return row.collected->tree.child_offsets; });
  columns.add({"children", "children of all nodes, in the order of their parents"},
              [](const Row& row) { return row.collected->tree.children; });
}

/// Adds a list column. The list of a row has the value get(node) for each AgentNode of the row.
template <class Get>
void add_of_agents(QuestionColumns& columns, QuestionColumns::About about, Get get) {
  columns.add(std::move(about), [get](const QuestionRow& row) {
    std::vector<std::invoke_result_t<Get, const AgentNode&>> values;
    for (const AgentNode& node : row.collected->agents)
      values.push_back(get(node));
    return values;
  });
}

/// Adds the column with the latent states of all nodes, one node after the other. Its elements have
/// type T.
template <class T, class Convert>
void add_latents(QuestionColumns& columns, std::int64_t width, Convert convert) {
  columns.add(
      {"latents", "states of the latent steps of all nodes, with noise, one after the other"},
      [convert](const QuestionRow& row) {
        std::vector<T> values;
        for (const AgentNode& node : row.collected->agents)
          for (const float value : node.latents)
            values.push_back(convert(value));
        return values;
      },
      width);
}

void add_agent_columns(QuestionColumns& columns, const AgentKeys& keys, std::int64_t width) {
  using Row = QuestionRow;
  add_of_agents(columns, {"node_agent", "agent of the node, from 0; -1: the root"},
                [](const AgentNode& node) { return node.agent; });
  add_of_agents(columns, {"node_score", "score of the path up to the node, from its states alone"},
                [](const AgentNode& node) { return node.score; });
  columns.add({"vote_right", "1: the answer with the largest sum of scores is right"},
              [](const Row& row) -> std::uint8_t { return row.collected->vote_is_right ? 1 : 0; });
  columns.add({"vote", "the answer with the largest sum of scores; empty: none"},
              [](const Row& row) { return row.collected->vote; });
  if (!keys.thinks()) return;
  add_of_agents(columns, {"node_latents", "latent steps of the node, in `latents`"},
                [width](const AgentNode& node) {
                  return static_cast<std::int32_t>(std::ssize(node.latents) / width);
                });
  if (keys.branch_entropy)
    add_of_agents(columns,
                  {"node_entropy", "mean entropy of the next token over its latent steps", "nats"},
                  [](const AgentNode& node) { return node.entropy; });
  if (keys.merge_similarity)
    add_of_agents(columns,
                  {"node_merged_into", "node of the same agent that it merged into; -1: none"},
                  [](const AgentNode& node) { return node.target; });
  if (keys.store == LatentStore::f32)
    add_latents<float>(columns, width, [](float value) { return value; });
  if (keys.store == LatentStore::f16)
    add_latents<Half>(columns, width, [](float value) { return Half::of(value); });
}

QuestionColumns question_columns(const CollectInputs& inputs) {
  using Row = QuestionRow;
  QuestionColumns columns;
  add_counts(columns);
  add_paths(columns);
  add_tree(columns);
  if (inputs.keys.agents.is_used)
    add_agent_columns(columns, inputs.keys.agents, inputs.model.hidden_size);
  columns.add({"prompt", "question as the model saw it, special tokens of `prompt` rows left out"},
              [](const Row& row) { return row.prompt->text; });
  columns.add({"answer", "column `answer` of the row; empty: the data set judges without it"},
              [](const Row& row) { return row.prompt->answer; });
  columns.add({"answers", "answer that each solution gives, as a JSON list; empty text: none"},
              answers_text);
  columns.add({"steps", "text of each step of each solution, as a JSON list of lists"}, steps_text);
  rows::add_row_columns(columns, inputs.kept.names(),
                        [](const Row& row) -> const rows::RowFacts& { return row.prompt->facts; });
  return columns;
}

}  // namespace

store::TableSpec question_table(const CollectInputs& inputs) {
  return question_columns(inputs).table("samples", inputs.questions());
}

std::vector<std::byte> question_rows(const CollectInputs& inputs, std::int64_t first,
                                     std::span<const Question> questions,
                                     std::span<const CollectedQuestion> collected) {
  std::vector<QuestionRow> rows;
  for (std::size_t i = 0; i < questions.size(); ++i)
    rows.push_back(
        {inputs.question_of(first + static_cast<std::int64_t>(i)), &questions[i], &collected[i]});
  const QuestionColumns columns = question_columns(inputs);
  return columns.encode(columns.table("samples", inputs.questions()), first, rows);
}

}  // namespace mgpu::jobs
