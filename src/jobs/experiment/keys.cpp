#include "keys.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include <mgpu/config/check_all.hpp>

namespace mgpu::jobs {
namespace {

constexpr const char* kFolder = "experiment.folder";
constexpr const char* kStages = "experiment.stages";
constexpr const char* kAfter = "experiment.after";
constexpr const char* kRanks = "experiment.ranks";

void check_stages(const Config& config) {
  const std::vector<std::string> stages = config.texts(kStages);
  if (config.is(kFolder, "null"))
    throw config.problem("E114", kFolder,
                         "job experiment needs `experiment.folder`, which has NAME.yaml for each "
                         "stage",
                         "experiment.folder=conf/examples/friendly");
  if (stages.empty() && !has_algorithms(config))
    throw config.problem("E114", kStages,
                         "job experiment needs `experiment.stages` or `experiment.algorithms`",
                         "experiment.stages=[reference, rollouts]");
  for (const std::string& stage : stages)
    if (!is_plain_name(stage))
      throw config.problem(
          "E107", kStages,
          "the name of a stage has letters, digits, `_` and `-`, unlike `" + stage + "`",
          "a name such as reference, for the file reference.yaml");
  if (std::set<std::string>(stages.begin(), stages.end()).size() < stages.size())
    throw config.problem("E107", kStages, "a stage comes twice", "remove one of the two");
}

/// Returns the positive integer in a text; 0 if the text is not a positive integer.
int count_of(const std::string& text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc{} && end == text.data() + text.size() ? std::max(count, 0) : 0;
}

void check_after(const Config& config) {
  const std::vector<std::string> names = config.texts(kAfter);
  const std::vector<std::string> values = config.values(kAfter);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::vector<std::string> before = words_of(values[i]);
    if (std::ranges::find(before, names[i]) != before.end())
      throw config.problem("E107", kAfter, "stage `" + names[i] + "` cannot wait for itself",
                           "remove it");
  }
}

void check_ranks(const Config& config) {
  const std::vector<std::string> names = config.texts(kRanks);
  const std::vector<std::string> values = config.values(kRanks);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (count_of(values[i]) == 0)
      throw config.problem("E107", kRanks, "`" + values[i] + "` is no number of ranks",
                           "experiment.ranks={" + names[i] + ": 2}");
}

/// Refuses run.schedule=dynamic. Also checks --only I/N, which sets run.worker_id to I and
/// run.total_workers to N. If experiment.algorithms is empty, refuses N above 1. Otherwise refuses
/// an I that is not below N.
void refuse_chunk_keys_of(const Config& config) {
  if (!has_algorithms(config))
    run::refuse_chunk_keys(config);
  else {
    run::check_chunk_keys(config);
    run::refuse_chunk_keys(config.with("run.worker_id", "0").with("run.total_workers", "1"));
  }
}

}  // namespace

void add_experiment_keys(KeyTable& table) {
  table.add({.name = kFolder,
             .type = KeyType::path,
             .default_value = "null",
             .summary = "folder with NAME.yaml, the configuration of stage NAME",
             .choices = {"null"}});
  table.add({.name = kStages,
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "names of the stages; a stage waits for those whose output it reads"});
  add_matrix_keys(table);
  table.add({.name = kAfter,
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "stages to wait for although their output is not read: "
                        "{NAME: \"NAME NAME\"}",
             .may_map = true});
  table.add({.name = kRanks,
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "most ranks of a stage: {NAME: 2}; without it, free ranks are divided "
                        "among the stages that can begin",
             .identity = false,
             .may_map = true});
  table.add({.name = "experiment.priority",
             .type = KeyType::choice,
             .default_value = "chain",
             .summary =
                 "which stage comes first: that with the longest chain of stages after it, or "
                 "that of the latest round, then with the shortest chain",
             .choices = {"chain", "round"},
             .identity = false});
  add_preferences_key(table);
  table.add({.name = "experiment.on_failure",
             .type = KeyType::choice,
             .default_value = "keep_going",
             .summary = "after a stage failed: run all stages that do not need it, or begin none",
             .choices = {"keep_going", "stop"},
             .identity = false});
  table.add({.name = "experiment.retries",
             .type = KeyType::integer,
             .default_value = "0",
             .summary = "times that a failed stage begins again in the same run",
             .min = 0,
             .max = 1000,
             .identity = false});
}

void check_experiment_keys(const Config& config) {
  check_all({[&] { check_stages(config); }, [&] { check_after(config); },
             [&] { check_ranks(config); }, [&] { check_matrix_keys(config); },
             [&] { check_preferences(config); }, [&] { refuse_chunk_keys_of(config); }});
}

ExperimentConfig read_experiment_config(const Config& config) {
  ExperimentConfig keys;
  keys.run = run::read_job_keys(config);
  keys.folder = config.text(kFolder);
  keys.stages = config.texts(kStages);
  const std::vector<std::string> waiting = config.texts(kAfter);
  for (std::size_t i = 0; i < waiting.size(); ++i)
    keys.after[waiting[i]] = words_of(config.values(kAfter)[i]);
  const std::vector<std::string> wishing = config.texts(kRanks);
  for (std::size_t i = 0; i < wishing.size(); ++i)
    keys.ranks[wishing[i]] = count_of(config.values(kRanks)[i]);
  keys.matrix = read_matrix(config);
  keys.stops_on_failure = config.is("experiment.on_failure", "stop");
  if (config.is("experiment.priority", "round")) keys.urgency = Urgency::round;
  keys.preferences = read_preferences(config);
  keys.retries = static_cast<int>(config.integer("experiment.retries"));
  keys.gives_seed = config.is_changed("run.seed");
  return keys;
}

}  // namespace mgpu::jobs
