#include "stepwise.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>

#include "keys.hpp"
#include "tree_reader.hpp"

namespace mgpu::jobs {
namespace {

using formats::JsonValue;

Failure stepwise_refusal(const run::ExportRequest& request, std::string text, std::string help) {
  return Failure({"E143",
                  ExitCode::usage,
                  std::move(text),
                  {"  --> " + request.results.string()},
                  std::move(help)});
}

std::string without_end(std::string text) {
  text.erase(text.find_last_not_of(" \t\r\n\v\f") + 1);
  return text;
}

/// Returns the JSON object of solution `path` of `tree`. If steps are lines (`has_lines`), removes
/// white space at the end of each step.
JsonValue line_of(const ReadTree& tree, std::size_t path, bool has_lines) {
  JsonValue::List completions;
  JsonValue::List labels;
  JsonValue::List values;
  for (const ReadStep& step : tree.paths[path].steps) {
    completions.emplace_back(has_lines ? without_end(step.text) : step.text);
    labels.emplace_back(step.value > 0.0);
    values.emplace_back(step.value);
  }
  return JsonValue::Members{{"prompt", tree.prompt},
                            {"completions", std::move(completions)},
                            {"labels", std::move(labels)},
                            {"values", std::move(values)}};
}

}  // namespace

std::int64_t export_stepwise(const run::ExportRequest& request) {
  const CollectKeys keys = read_collect_keys(request.config);
  if (keys.agents.is_used)
    throw stepwise_refusal(request, "its steps are the work of agents, which TRL cannot read",
                           "--export jsonl has the values of all nodes");
  const bool has_lines = keys.splits_lines;
  const TreeReader trees(request.results);
  std::ofstream file(request.out, std::ios::binary);
  std::int64_t lines = 0;
  for (std::int64_t row = 0; row < trees.rows(); ++row) {
    const ReadTree tree = trees.read(row);
    if (!tree.paths.empty() && tree.prompt.empty())
      throw stepwise_refusal(request, "the run has token ids without texts",
                             "--export jsonl has the token ids and values of all steps");
    for (std::size_t path = 0; path < tree.paths.size(); ++path, ++lines)
      file << formats::to_json_line(line_of(tree, path, has_lines), formats::BadUtf8::replace)
           << '\n';
  }
  if (lines == 0)
    throw stepwise_refusal(request, "the run has no solutions",
                           "column `reason` of table samples says why");
  file.close();
  if (file) return lines;
  throw Failure(
      {"E602", ExitCode::io, "cannot write the steps", {"  --> " + request.out.string()}, ""});
}

}  // namespace mgpu::jobs
