#include "stage_order.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include <mgpu/jobs/job.hpp>
#include <mgpu/run/export_format.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

/// Returns the part of `path` below `folder`; nullopt if it is not below it.
std::optional<fs::path> part_below(const fs::path& path, const fs::path& folder) {
  const fs::path relative = path.lexically_normal().lexically_relative(folder);
  if (relative.empty() || relative == "." || *relative.begin() == "..") return std::nullopt;
  return relative;
}

/// Returns all keys of a configuration that give a path, with these paths.
std::vector<std::pair<std::string, fs::path>> paths_in(const Config& config) {
  std::vector<std::pair<std::string, fs::path>> paths;
  for (const KeySpec* key : config.keys()) {
    if (key->type != KeyType::path || !config.is_given(key->name)) continue;
    const std::string text = config.text(key->name);
    if (is_path(*key, text)) paths.emplace_back(key->name, text);
  }
  return paths;
}

/// Finds the keys of a stage that read the output of other stages.
void find_inputs(std::vector<Stage>& stages, std::size_t index) {
  for (const auto& [key, path] : paths_in(stages[index].config)) {
    for (std::size_t other = 0; other < stages.size(); ++other) {
      const auto below = part_below(path, stages[other].output);
      if (!below || other == index) continue;
      stages[index].inputs.push_back({key, other, *below});
      stages[index].after.push_back(other);
    }
  }
}

/// Adds to each stage the formats in which other stages read its results.
void find_exports(std::vector<Stage>& stages) {
  for (const Stage& reader : stages) {
    for (const StageInput& input : reader.inputs) {
      Stage& from = stages[input.from];
      const fs::path results = store::read_store_config(from.config).result_file;
      for (const run::ExportFormat& format : export_formats(job_of(from.config))) {
        const bool is_known = std::ranges::find(from.exports, format.name) != from.exports.end();
        if (!is_known && run::export_path(format, results) == input.relative)
          from.exports.emplace_back(format.name);
      }
    }
  }
}

std::size_t index_of(const std::vector<Stage>& stages, const std::string& name) {
  const auto found = std::ranges::find(stages, name, &Stage::name);
  return static_cast<std::size_t>(found - stages.begin());
}

void find_all_before(const ExperimentConfig& keys, std::vector<Stage>& stages) {
  for (std::size_t s = 0; s < stages.size(); ++s) {
    find_inputs(stages, s);
    if (const auto more = keys.after.find(stages[s].name); more != keys.after.end())
      for (const std::string& name : more->second)
        stages[s].after.push_back(index_of(stages, name));
    std::ranges::sort(stages[s].after);
    const auto repeated = std::ranges::unique(stages[s].after);
    stages[s].after.erase(repeated.begin(), repeated.end());
  }
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
            "another run.name in one of the two");
}

/// Follows the stages that the last stage of `way` waits for. Returns the stages of the first cycle
/// that it finds, or nothing.
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

}  // namespace

void refuse_stage(const fs::path& file, std::string sentence, std::string help) {
  throw Failure(
      {"E124", ExitCode::config, std::move(sentence), {"  --> " + file.string()}, std::move(help)});
}

void find_order(const ExperimentConfig& keys, std::vector<Stage>& stages) {
  refuse_equal_outputs(stages);
  find_all_before(keys, stages);
  find_exports(stages);
  refuse_cycles(stages);
}

}  // namespace mgpu::jobs
