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
#include <mgpu/store/run_dir/store_config.hpp>

#include "stage_order.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

/// Reads the configuration of a stage. Of the rules between keys, only those of module store are
/// checked here; choose_sizes() checks those of the job for each number of ranks.
Config read_stage_config(const fs::path& file, const KeyTable& table, const FileProvider& files) {
  ConfigSources sources = files.sources(file.string());
  sources.rules = [](const Config& config) { store::read_store_config(config); };
  return read_config(table, sources);
}

/// Returns the configuration with the keys that the experiment sets for all stages.
Config with_shared_keys(const Config& config, const ExperimentConfig& keys) {
  Config shared = config;
  if (keys.gives_seed) shared = shared.with("run.seed", std::to_string(keys.run.seed));
  if (!shared.is_given("run.deterministic"))  // so that results do not depend on the free ranks
    shared = shared.with("run.deterministic", "layout");
  return shared;
}

/// Throws if the job, or the split of the ranks into groups, refuses this number of ranks.
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

fs::path output_of(const Config& config) {
  const store::StoreConfig store = store::read_store_config(config);
  return (fs::absolute(store.output_folder) / store.run_name / "latest").lexically_normal();
}

Stage read_stage(const ExperimentConfig& keys, const std::string& name, const KeyTable& table,
                 const FileProvider& files) {
  const fs::path file = keys.folder / (name + ".yaml");
  const Config config = read_stage_config(file, table, files);
  if (read_job_name(config) == "experiment")
    refuse_stage(file, "stage " + name + " is an experiment itself",
                 "the stages of that experiment");
  Stage stage{.name = name, .config = with_shared_keys(config, keys), .file = file, .output = {}};
  stage.output = output_of(config);
  if (const auto wish = keys.ranks.find(name); wish != keys.ranks.end()) stage.wish = wish->second;
  return stage;
}

}  // namespace

std::vector<Stage> read_stages(const ExperimentConfig& keys, const KeyTable& table,
                               const FileProvider& files) {
  std::vector<Stage> stages;
  for (const std::string& name : keys.stages)
    stages.push_back(read_stage(keys, name, table, files));
  files.agree([&] { find_order(keys, stages); });
  return stages;
}

void choose_sizes(std::vector<Stage>& stages, int ranks) {
  for (Stage& stage : stages)
    stage.sizes = accepted_sizes(stage.config, ranks);
}

std::vector<StageNeed> needs_of(const std::vector<Stage>& stages) {
  std::vector<StageNeed> needs;
  for (const Stage& stage : stages)
    needs.push_back({stage.after, stage.sizes, stage.wish});
  return needs;
}

Config with_inputs(const Stage& stage, const std::map<std::size_t, std::string>& directories) {
  Config config = stage.config;
  for (const StageInput& input : stage.inputs)
    config =
        config.with(input.key, (fs::path(directories.at(input.from)) / input.relative).string());
  return config;
}

}  // namespace mgpu::jobs
