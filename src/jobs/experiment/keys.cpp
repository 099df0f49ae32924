#include "keys.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <string_view>

#include <mgpu/config/check_all.hpp>
#include <mgpu/config/nearest_name.hpp>

namespace mgpu::jobs {
namespace {

constexpr const char* kFolder = "experiment.folder";
constexpr const char* kStages = "experiment.stages";
constexpr const char* kAfter = "experiment.after";
constexpr const char* kRanks = "experiment.ranks";

bool is_name(std::string_view name) {
  constexpr std::string_view kOther = "_-";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           kOther.find(c) != std::string_view::npos;
  });
}

void check_stages(const Config& config) {
  const std::vector<std::string> stages = config.texts(kStages);
  if (config.is(kFolder, "null"))
    throw config.problem("E114", kFolder,
                         "job experiment needs `experiment.folder`, which has NAME.yaml for each "
                         "stage",
                         "experiment.folder=conf/examples/friendly");
  if (stages.empty())
    throw config.problem("E114", kStages, "job experiment needs `experiment.stages`",
                         "experiment.stages=[reference, rollouts]");
  for (const std::string& stage : stages)
    if (!is_name(stage))
      throw config.problem(
          "E107", kStages,
          "the name of a stage has letters, digits, `_` and `-`, unlike `" + stage + "`",
          "a name such as reference, for the file reference.yaml");
  if (std::set<std::string>(stages.begin(), stages.end()).size() < stages.size())
    throw config.problem("E107", kStages, "a stage comes twice", "remove one of the two");
}

/// Throws if experiment.stages has no stage `name`. It accepts any name if experiment.stages is
/// empty, which check_stages() refuses.
void require_stage(const Config& config, const char* key, const std::string& name) {
  const std::vector<std::string> stages = config.texts(kStages);
  if (stages.empty() || std::ranges::find(stages, name) != stages.end()) return;
  const std::string nearest = nearest_name(name, stages);
  throw config.problem("E107", key, "there is no stage `" + name + "` in experiment.stages",
                       nearest.empty() ? "a stage of experiment.stages, such as " + stages.front()
                                       : "did you mean `" + nearest + "`?");
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

/// Returns the positive integer in `text`; 0 for any other text.
int count_of(const std::string& text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc{} && end == text.data() + text.size() ? std::max(count, 0) : 0;
}

void check_after(const Config& config) {
  const std::vector<std::string> names = config.texts(kAfter);
  const std::vector<std::string> values = config.values(kAfter);
  for (std::size_t i = 0; i < names.size(); ++i) {
    require_stage(config, kAfter, names[i]);
    for (const std::string& before : words_of(values[i])) {
      require_stage(config, kAfter, before);
      if (before == names[i])
        throw config.problem("E107", kAfter, "stage `" + before + "` cannot wait for itself",
                             "remove it");
    }
  }
}

void check_ranks(const Config& config) {
  const std::vector<std::string> names = config.texts(kRanks);
  const std::vector<std::string> values = config.values(kRanks);
  for (std::size_t i = 0; i < names.size(); ++i) {
    require_stage(config, kRanks, names[i]);
    if (count_of(values[i]) == 0)
      throw config.problem("E107", kRanks, "`" + values[i] + "` is no number of ranks",
                           "experiment.ranks={" + names[i] + ": 2}");
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
  table.add({.name = "experiment.on_failure",
             .type = KeyType::choice,
             .default_value = "keep_going",
             .summary = "after a stage failed: run all stages that do not need it, or begin none",
             .choices = {"keep_going", "stop"},
             .identity = false});
}

void check_experiment_keys(const Config& config) {
  check_all({[&] { check_stages(config); }, [&] { check_after(config); },
             [&] { check_ranks(config); }, [&] { run::refuse_chunk_keys(config); }});
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
  keys.stops_on_failure = config.is("experiment.on_failure", "stop");
  keys.gives_seed = config.is_given("run.seed");
  return keys;
}

}  // namespace mgpu::jobs
