#include "stage_order.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <mgpu/config/nearest_name.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/run/export_format.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "cell_states.hpp"
#include "joined_rounds.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

/// Returns `path` relative to `folder`; nullopt if `path` is not below `folder`.
std::optional<fs::path> part_below(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_normal().lexically_relative(folder);
  if (relative.empty() || relative == "." || *relative.begin() == "..") return std::nullopt;
  return relative;
}

/// Returns the keys of type path that a configuration sets to a path, each with this path.
std::vector<std::pair<std::string, fs::path>> paths_in(const Config& config) {
  std::vector<std::pair<std::string, fs::path>> paths;
  for (const KeySpec* key : config.keys()) {
    if (key->type != KeyType::path || !config.is_given(key->name)) continue;
    const std::string text = config.text(key->name);
    if (is_path(*key, text)) paths.emplace_back(key->name, text);
  }
  return paths;
}

/// Adds an element to Stage::inputs of stage `index` for each of its keys whose path is in the
/// output of another stage. Adds these other stages to Stage::after.
void find_inputs(std::vector<Stage>& stages, std::size_t index) {
  for (const auto& [key, path] : paths_in(stages[index].config)) {
    for (std::size_t other = 0; other < stages.size(); ++other) {
      const auto below = part_below(path, stages[other].output);
      if (!below || other == index) continue;
      StageInput input{key, other, *below};
      find_rounds(stages, stages[index], input);
      stages[index].inputs.push_back(std::move(input));
      stages[index].after.push_back(other);
    }
  }
}

/// Adds to Stage::exports the format of --export whose file is `relative`, if there is one.
void add_export(Stage& from, const fs::path& relative) {
  const fs::path results = store::read_store_config(from.config).result_file;
  for (const run::ExportFormat& format : export_formats(job_of(from.config))) {
    const bool is_known = std::ranges::find(from.exports, format.name) != from.exports.end();
    if (!is_known && run::export_path(format, results) == relative)
      from.exports.emplace_back(format.name);
  }
}

/// Adds to Stage::exports of each stage the formats in which other stages read its results.
void find_exports(std::vector<Stage>& stages) {
  for (const Stage& reader : stages) {
    for (const StageInput& input : reader.inputs) {
      add_export(stages[input.from], input.relative);
      for (const std::size_t earlier : input.earlier)
        add_export(stages[earlier], input.relative);
    }
  }
}

/// Adds to Stage::after of stage `index` the stages that experiment.after names for it. Adds only
/// stages that have the same values (round, data set, ...) as stage `index`, where both use the
/// value.
void add_given(const ExperimentConfig& keys, std::vector<Stage>& stages, std::size_t index) {
  Stage& stage = stages[index];
  const auto given = keys.after.find(stage.file_name);
  if (given == keys.after.end()) return;
  for (std::size_t other = 0; other < stages.size(); ++other)
    if (std::ranges::find(given->second, stages[other].file_name) != given->second.end() &&
        have_no_conflict(stage.values, stages[other].values))
      stage.after.push_back(other);
}

void sort_without_repeats(std::vector<std::size_t>& indices) {
  std::ranges::sort(indices);
  const auto repeated = std::ranges::unique(indices);
  indices.erase(repeated.begin(), repeated.end());
}

/// Returns the stages that evaluate cells of the round before the round of `cell`. If `is_of_all`
/// is true, these are all cells of that round. Otherwise they are the cells of that round with the
/// same algorithm, data set and model as `cell`, where both cells have the value.
std::vector<std::size_t> last_round(const std::vector<Cell>& cells, const Cell& cell,
                                    bool is_of_all) {
  CellValues wanted = cell.values;
  if (is_of_all) wanted.clear();
  wanted.erase("eta");
  wanted["round"] = std::to_string(round_of(cell.values) - 1);
  std::vector<std::size_t> evaluations;
  for (const Cell& other : cells)
    if (other.values.contains("round") && have_no_conflict(wanted, other.values))
      evaluations.push_back(other.evaluation);
  return evaluations;
}

/// For each cell, adds the stages that last_round() returns to Stage::after of some of the cell's
/// stages: those that have the round of the cell.
void add_last_rounds(const Matrix& matrix, StageGraph& graph) {
  std::vector<std::pair<std::size_t, std::vector<std::size_t>>> added;
  for (const Cell& cell : graph.cells) {
    const int round = round_of(cell.values);
    if (round == 0) continue;
    std::vector<std::size_t> own = all_before(graph.stages, cell.evaluation);
    own.push_back(cell.evaluation);
    for (const std::size_t stage : own)
      if (round_of(graph.stages[stage].values) == round)
        added.emplace_back(stage, last_round(graph.cells, cell, matrix.has_barrier));
  }
  for (const auto& [stage, evaluations] : added)
    std::ranges::copy(evaluations, std::back_inserter(graph.stages[stage].after));
}

void find_all_before(const ExperimentConfig& keys, StageGraph& graph) {
  for (std::size_t s = 0; s < graph.stages.size(); ++s) {
    find_inputs(graph.stages, s);
    add_given(keys, graph.stages, s);
  }
  add_last_rounds(keys.matrix, graph);
  for (Stage& stage : graph.stages)
    sort_without_repeats(stage.after);
}

void refuse_equal_names(const std::vector<Stage>& stages) {
  std::set<std::string> names;
  for (const Stage& stage : stages)
    if (!names.insert(stage.name).second)
      refuse_stage(stage.file, "two stages have the name " + stage.name,
                   "other names of files or in the lists of the experiment");
}

void refuse_equal_outputs(const std::vector<Stage>& stages) {
  for (std::size_t s = 0; s < stages.size(); ++s)
    for (std::size_t other = 0; other < s; ++other)
      if (stages[s].output == stages[other].output)
        refuse_stage(
            stages[s].file,
            "stages " + stages[other].name + " and " + stages[s].name +
                " have the same run.name and run.output, so nothing says whose results others "
                "read",
            stages[s].file == stages[other].file
                ? "remove run.name, because the experiment names the stage"
                : "another run.name in one of the two");
}

/// Searches depth-first for a cycle of stages that wait for each other. `way` is the path of the
/// search: each of its stages waits for the next one. `seen` has the stages that were visited.
/// Returns the stages of the first cycle, or an empty list.
std::vector<std::size_t> cycle_from(const std::vector<Stage>& stages, std::vector<std::size_t> way,
                                    std::set<std::size_t>& seen) {
  for (const std::size_t before : stages[way.back()].after) {
    const auto met = std::ranges::find(way, before);
    if (met != way.end()) return {met, way.end()};
    if (!seen.insert(before).second) continue;
    std::vector<std::size_t> longer = way;
    longer.push_back(before);
    if (auto cycle = cycle_from(stages, std::move(longer), seen); !cycle.empty()) return cycle;
  }
  return {};
}

void refuse_cycles(const std::vector<Stage>& stages) {
  std::set<std::size_t> seen;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const std::vector<std::size_t> cycle = cycle_from(stages, {s}, seen);
    if (cycle.empty()) continue;
    std::string text;
    for (const std::size_t stage : cycle)
      text += stages[stage].name + " waits for ";
    refuse_stage(stages[cycle.front()].file,
                 "the stages wait for each other: " + text + stages[cycle.front()].name,
                 "let one of them read another output, or change experiment.after");
  }
}

[[noreturn]] void refuse_name(const Config& config, const char* key, const std::string& name,
                              const std::vector<std::string>& files) {
  const std::string nearest = nearest_name(name, files);
  throw config.problem("E107", key, "the experiment has no stage `" + name + "`",
                       nearest.empty() ? "the name of a stage file, such as " + files.front()
                                       : "did you mean `" + nearest + "`?");
}

}  // namespace

void refuse_stage(const fs::path& file, std::string sentence, std::string help) {
  throw Failure(
      {"E124", ExitCode::config, std::move(sentence), {"  --> " + file.string()}, std::move(help)});
}

void require_names(const ExperimentConfig& keys, const Config& config,
                   const std::vector<Stage>& stages) {
  std::vector<std::string> files;
  for (const Stage& stage : stages)
    files.push_back(stage.file_name);
  const auto require = [&](const char* key, const std::string& name) {
    if (std::ranges::find(files, name) == files.end()) refuse_name(config, key, name, files);
  };
  for (const auto& [waiting, before] : keys.after) {
    require("experiment.after", waiting);
    for (const std::string& name : before)
      require("experiment.after", name);
  }
  for (const auto& [wishing, ranks] : keys.ranks)
    require("experiment.ranks", wishing);
}

void find_order(const ExperimentConfig& keys, StageGraph& graph) {
  refuse_equal_names(graph.stages);
  refuse_equal_outputs(graph.stages);
  find_all_before(keys, graph);
  find_exports(graph.stages);
  refuse_cycles(graph.stages);
}

}  // namespace mgpu::jobs
