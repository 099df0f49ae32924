#include "collected_rows.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/results/list_column.hpp>
#include <mgpu/store/results/read_texts.hpp>

namespace mgpu::recipes {
namespace {

using formats::JsonValue;
using Steps = std::vector<std::vector<std::string>>;

constexpr const char* kContradiction = "the steps of the file do not fit the nodes of its trees";
constexpr const char* kAgain = "run job collect again";

Failure not_collected(const std::filesystem::path& path, std::string sentence, std::string help) {
  return Failure(
      {"E605", ExitCode::data, std::move(sentence), {"  --> " + path.string()}, std::move(help)});
}

/// Opens a list column of numbers of type T, or refuses the file.
template <class T>
store::ListColumn open_lists(const std::filesystem::path& path, const char* name) {
  if (!store::has_lists(path, "samples", name))
    throw not_collected(path,
                        std::string("the file has no column `") + name +
                            "`, so it is no result file of job collect of this version",
                        "data.path=results.h5 of job collect, or run --export trl");
  store::ListColumn column(path, "samples", name);
  if (column.spec().type != store::column_type<T>() || column.spec().width != 1)
    throw not_collected(path, std::string("column `") + name + "` has numbers of another type",
                        kAgain);
  column.check_bytes();
  return column;
}

/// Returns column `question_index`, the index of each question in its data set, or refuses the
/// file.
store::ReadColumn read_questions(const std::filesystem::path& path) {
  store::ReadColumn column = store::read_table(path, "samples").column("question_index");
  if (column.spec.type != store::ColumnType::i64 || column.spec.width != 1)
    throw not_collected(path, "column `question_index` has numbers of another type", kAgain);
  return column;
}

template <class T>
JsonValue::List list_of(std::span<const T> values) {
  JsonValue::List list;
  for (const T value : values)
    list.emplace_back(static_cast<std::int64_t>(value));
  return list;
}

}  // namespace

struct CollectedRows::Columns {
  explicit Columns(const std::filesystem::path& path)
      : path_right(open_lists<std::uint8_t>(path, "path_right")),
        question_index(read_questions(path)),
        prompt_ids(open_lists<std::int32_t>(path, "prompt_ids")),
        path_offsets(open_lists<std::int32_t>(path, "path_offsets")),
        output_ids(open_lists<std::int32_t>(path, "output_ids")),
        node_path(open_lists<std::int32_t>(path, "node_path")),
        node_step(open_lists<std::int32_t>(path, "node_step")),
        node_parent(open_lists<std::int32_t>(path, "node_parent")),
        node_tokens(open_lists<std::int32_t>(path, "node_tokens")),
        node_value(open_lists<double>(path, "node_value")),
        prompts(path, "samples", "prompt"),
        steps(path, "samples", "steps") {
    prompts.check_bytes();
    steps.check_bytes();
    for (const store::ListColumn* column : {&node_step, &node_parent, &node_tokens, &node_value})
      if (!column->has_lengths_of(node_path)) throw not_collected(path, kContradiction, kAgain);
  }

  store::ListColumn path_right;
  store::ReadColumn question_index;
  store::ListColumn prompt_ids;
  store::ListColumn path_offsets;
  store::ListColumn output_ids;
  store::ListColumn node_path;
  store::ListColumn node_step;
  store::ListColumn node_parent;
  store::ListColumn node_tokens;
  store::ListColumn node_value;
  store::TextColumn prompts;
  store::TextColumn steps;
};

/// The lists of one question: its solutions (paths in the tree) and the nodes of its tree.
struct CollectedRows::Question {
  Question(const Columns& columns, std::int64_t row)
      : first(columns.path_right.begin_of(row)),
        paths(columns.path_right.items_of(row)),
        index(columns.question_index.values<std::int64_t>()[static_cast<std::size_t>(row)]),
        prompt(columns.prompts.read(row, 1).at(0)),
        prompt_ids(columns.prompt_ids.read(row, 1)),
        path_offsets(columns.path_offsets.read(row, 1)),
        output_ids(columns.output_ids.read(row, 1)),
        node_path(columns.node_path.read(row, 1)),
        node_step(columns.node_step.read(row, 1)),
        node_parent(columns.node_parent.read(row, 1)),
        node_tokens(columns.node_tokens.read(row, 1)),
        node_value(columns.node_value.read(row, 1)) {
    const std::string texts = columns.steps.read(row, 1).at(0);
    steps = formats::parse_json_object("{\"list\": " + texts + "}").get<Steps>("list");
  }

  static std::int32_t at(const store::ReadLists& lists, std::int64_t place) {
    const auto values = lists.row<std::int32_t>(0);
    if (place < 0 || place >= std::ssize(values)) throw std::out_of_range("place");
    return values[static_cast<std::size_t>(place)];
  }

  /// Returns the nodes of a path, from its first step to its last.
  std::vector<std::int64_t> nodes_of(std::int64_t path) const {
    std::vector<std::int64_t> nodes;
    const std::int64_t last = std::ssize(steps.at(static_cast<std::size_t>(path)));
    std::int64_t node = std::ssize(node_path.row<std::int32_t>(0)) - 1;
    while (at(node_path, node) != path || at(node_step, node) != last)
      --node;
    for (; node > 0; node = at(node_parent, node)) {
      if (at(node_parent, node) >= node) throw std::out_of_range("parent");
      nodes.push_back(node);
    }
    std::ranges::reverse(nodes);
    return nodes;
  }

  JsonValue row_of(std::int64_t path) const;

  std::int64_t first;  // index of the first path of the question among all paths
  std::int64_t paths;
  std::int64_t index;
  std::string prompt;
  Steps steps{};
  store::ReadLists prompt_ids;
  store::ReadLists path_offsets;
  store::ReadLists output_ids;
  store::ReadLists node_path;
  store::ReadLists node_step;
  store::ReadLists node_parent;
  store::ReadLists node_tokens;
  store::ReadLists node_value;
};

/// Returns the row of a solution, the path with the index `path` in this question.
/// Errors: std::out_of_range if the lists contradict each other.
JsonValue CollectedRows::Question::row_of(std::int64_t path) const {
  const std::int32_t begin = at(path_offsets, path);
  const std::int32_t end = at(path_offsets, path + 1);
  const auto ids = output_ids.row<std::int32_t>(0);
  if (begin < 0 || begin > end || end > std::ssize(ids)) throw std::out_of_range("tokens");
  JsonValue::List texts;
  JsonValue::List labels;
  JsonValue::List values;
  JsonValue::List ends;
  std::int64_t tokens = 0;
  std::int32_t done = 0;  // number of steps whose texts were appended
  for (const std::int64_t node : nodes_of(path)) {
    std::string text;
    for (; done < at(node_step, node); ++done)
      text += steps[static_cast<std::size_t>(path)].at(static_cast<std::size_t>(done));
    const double value = node_value.row<double>(0)[static_cast<std::size_t>(node)];
    tokens += at(node_tokens, node);
    texts.emplace_back(std::move(text));
    labels.emplace_back(value > 0.0);
    values.emplace_back(value);
    ends.emplace_back(tokens);
  }
  if (tokens != end - begin) throw std::out_of_range("tokens of the steps");
  const auto own = ids.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(tokens));
  return JsonValue::Members{{"question", index},
                            {"prompt", prompt},
                            {"prompt_ids", list_of(prompt_ids.row<std::int32_t>(0))},
                            {"output_ids", list_of(own)},
                            {"ends", std::move(ends)},
                            {"completions", std::move(texts)},
                            {"labels", std::move(labels)},
                            {"values", std::move(values)}};
}

CollectedRows::CollectedRows(std::filesystem::path path)
    : path_(std::move(path)), columns_(std::make_unique<Columns>(path_)) {
  if (rows() == 0)
    throw not_collected(path_, "no question of the file has solutions with steps",
                        "column `reason` of table samples says why");
}

CollectedRows::~CollectedRows() = default;

std::int64_t CollectedRows::rows() const {
  return columns_->path_right.items();
}

/// Returns the question to which path `row` belongs. `row` counts the paths of all questions.
const CollectedRows::Question& CollectedRows::question_at(std::int64_t row) const {
  if (question_ && row >= question_->first && row < question_->first + question_->paths)
    return *question_;
  std::int64_t low = 0;
  std::int64_t high = columns_->path_right.rows();
  while (high - low > 1) {  // finds the last question that begins at or before the path
    const std::int64_t middle = (low + high) / 2;
    (columns_->path_right.begin_of(middle) <= row ? low : high) = middle;
  }
  question_ = std::make_unique<Question>(*columns_, low);
  return *question_;
}

std::string CollectedRows::row(std::int64_t index) const {
  try {
    const Question& question = question_at(index);
    return formats::to_json_line(question.row_of(index - question.first),
                                 formats::BadUtf8::replace);
  } catch (const std::out_of_range&) {
    throw not_collected(path_, kContradiction, kAgain);
  } catch (const formats::JsonError&) {
    throw not_collected(path_, "the steps of the file are no texts", kAgain);
  }
}

}  // namespace mgpu::recipes
