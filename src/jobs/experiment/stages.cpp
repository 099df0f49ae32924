#include "stages.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/topology.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/jobs/job.hpp>

#include "joined_rounds.hpp"
#include "preferences.hpp"
#include "stage_order.hpp"
#include "stage_reader.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

/// Checks that a stage can run on `size` ranks: its job must accept this number, and devices.* must
/// be able to divide the ranks into groups.
/// Errors: the Failure of the job or of the division.
void check_size(const Config& config, int size) {
  cluster::group_of_each_rank(size, cluster::read_cluster_config(config).group_sizes());
  job_of(config).check(config, size);
}

/// Returns the numbers of ranks that choose_sizes() tries, ascending.
std::set<int> sizes_to_try(int ranks) {
  constexpr int kAll = 16;
  std::set<int> sizes{ranks};
  for (int size = 1; size <= std::min(ranks, kAll); ++size)
    sizes.insert(size);
  for (std::int64_t power = kAll; power <= ranks; power *= 2) {
    sizes.insert(static_cast<int>(power));
    if (3 * power / 2 <= ranks) sizes.insert(static_cast<int>(3 * power / 2));
  }
  return sizes;
}

std::vector<int> accepted_sizes(const Config& config, int ranks) {
  std::vector<int> sizes;
  std::optional<ErrorReport> first;
  for (const int size : sizes_to_try(ranks)) {
    try {
      check_size(config, size);
      sizes.push_back(size);
    } catch (const Failure& failure) {
      if (!first) first = failure.report();
    }
  }
  if (sizes.empty()) throw Failure(*first);
  return sizes;
}

/// Adds the cell of `values` to `graph`, unless `graph` already has this cell. Also adds the stage
/// that evaluates the cell to `reader`, unless `reader` already has this stage.
void add_cell(StageReader& reader, const CellValues& values, StageGraph& graph) {
  const std::string& algorithm = values.at("algorithm");
  Cell cell{{}, reader.evaluation_of(algorithm, values)};
  cell.values = reader.stage(cell.evaluation).values;
  cell.values["algorithm"] = algorithm;
  const bool is_known = std::ranges::any_of(graph.cells, [&](const Cell& other) {
    return other.evaluation == cell.evaluation && other.values == cell.values;
  });
  if (!is_known) graph.cells.push_back(std::move(cell));
}

}  // namespace

StageGraph read_graph(const ExperimentConfig& keys, const Config& config,
                      const FileProvider& files) {
  StageGraph graph;
  StageReader reader(keys, config, files);
  for (const CellValues& values : values_of_cells(keys.matrix)) {
    for (const std::string& name : keys.stages)
      reader.stage_of(name, values);
    if (values.contains("algorithm")) add_cell(reader, values, graph);
  }
  graph.stages = reader.take_stages();
  files.run_together([&] {
    require_names(keys, config, graph.stages);
    find_order(keys, graph);
    set_preferences(keys.preferences, graph);
  });
  return graph;
}

void choose_sizes(std::vector<Stage>& stages, int ranks) {
  for (Stage& stage : stages)
    stage.sizes = accepted_sizes(stage.config, ranks);
}

std::vector<StageNeed> needs_of(const std::vector<Stage>& stages) {
  std::vector<StageNeed> needs;
  for (const Stage& stage : stages)
    needs.push_back(
        {stage.after, stage.sizes, stage.wish, round_of(stage.values), stage.preference});
  return needs;
}

std::string description(const std::vector<Stage>& stages, const Stage& stage) {
  std::string text = "job " + read_job_name(stage.config);
  for (const std::size_t before : stage.after)
    text += (before == stage.after.front() ? ", after " : ", ") + stages[before].name;
  return text;
}

Config with_inputs(const Stage& stage, const std::map<std::size_t, std::string>& directories,
                   bool is_plan) {
  Config config = stage.config;
  for (const StageInput& input : stage.inputs) {
    const fs::path path = is_plan ? path_for_plan(input, directories) : path_of(input, directories);
    config = config.with(input.key, path.string());
  }
  return config;
}

}  // namespace mgpu::jobs
