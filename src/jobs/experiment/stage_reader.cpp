#include "stage_reader.hpp"

#include <algorithm>
#include <exception>
#include <string_view>

#include <mgpu/cluster/group.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/config/path_text.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "earlier_runs.hpp"
#include "joined_rounds.hpp"
#include "placeholders.hpp"
#include "stage_order.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

/// Returns the configuration of a stage with the keys that the experiment sets for all stages.
Config with_shared_keys(const Config& config, const ExperimentConfig& keys) {
  Config shared = config;
  if (keys.gives_seed) shared = shared.with("run.seed", std::to_string(keys.run.seed));
  // With this value, results do not depend on the number of ranks.
  if (!shared.is_given("run.deterministic")) shared = shared.with("run.deterministic", "layout");
  return shared;
}

/// Returns the configuration of a stage. If `config` does not set run.name, run.name becomes
/// `name`, and run.output becomes the stages_folder() of the experiment.
Config with_output(const Config& config, const Config& experiment, const std::string& name) {
  if (config.is_given("run.name")) return config;
  const fs::path folder = stages_folder(store::read_store_config(experiment));
  return config.with("run.name", name).with("run.output", folder.string());
}

fs::path output_folder(const Config& config) {
  const store::StoreConfig store = store::read_store_config(config);
  return (fs::absolute(store.output_folder) / store.run_name / "latest").lexically_normal();
}

/// Returns whether `values` has each entry of `used`, with the same value.
bool has_all(const CellValues& values, const CellValues& used) {
  return std::ranges::all_of(used, [&](const auto& entry) {
    const auto value = values.find(entry.first);
    return value != values.end() && value->second == entry.second;
  });
}

}  // namespace

std::optional<std::size_t> StageReader::find(const std::string& file_name,
                                             const CellValues& values) const {
  for (std::size_t s = 0; s < stages_.size(); ++s)
    if (stages_[s].file_name == file_name && has_all(values, stages_[s].values)) return s;
  return std::nullopt;
}

void StageReader::refuse_cycle(const std::string& file_name, const CellValues& values) const {
  const auto first = std::ranges::find_if(way_, [&](const Open* open) {
    return open->file_name == file_name && open->values == values;
  });
  if (first == way_.end()) return;
  std::string text;
  for (auto open = first; open != way_.end(); ++open)
    text += (*open)->file_name + " waits for ";
  refuse_stage((*first)->file, "the stages wait for each other: " + text + file_name,
               "let one of them read another output");
}

std::size_t StageReader::stage_of(const std::string& file_name, const CellValues& values) {
  if (const auto known = find(file_name, values)) return *known;
  refuse_cycle(file_name, values);
  Open open{file_name, keys_.folder / (file_name + ".yaml"), values};
  const Config config = read(open);
  if (read_job_name(config) == "experiment")
    refuse_stage(open.file, "stage " + file_name + " is an experiment itself",
                 "the stages of that experiment");
  add(open, config);
  return stages_.size() - 1;
}

std::size_t StageReader::evaluation_of(const std::string& algorithm, const CellValues& values) {
  const fs::path file = keys_.folder / (algorithm + ".yaml");
  if (const auto help = help_if_missing(file))
    refuse_stage(file, "there is no algorithm `" + algorithm + "` in experiment.folder", *help);
  return stage_of(algorithm, values);
}

/// Returns nullopt if the file can be read. If the file is missing, returns the help text of the
/// failure.
std::optional<std::string> StageReader::help_if_missing(const fs::path& file) {
  const std::exception_ptr failure = cluster::failure_of([&] { text_of(file); });
  if (!failure) return std::nullopt;
  const ErrorReport report = report_of(failure);
  if (report.code != "E603") std::rethrow_exception(failure);
  return report.help;
}

/// Returns the text of a file. Each file is read only once.
const std::string& StageReader::text_of(const fs::path& file) {
  const auto known = texts_.find(file);
  return known != texts_.end() ? known->second : texts_[file] = files_.read(file);
}

/// Reads the configuration of a stage, and records in `open` which values and stages the stage
/// uses.
Config StageReader::read(Open& open) {
  std::exception_ptr
      failure;  // first failure to replace a placeholder; rethrown after read_config(), which would
                // otherwise report it as the failure of an include
  ConfigSources sources = files_.sources(open.file.string());
  sources.rules = [](const Config& config) { store::read_store_config(config); };
  sources.read = [&](const fs::path& file) {
    const std::string& text = text_of(file);
    std::string replaced;
    const std::exception_ptr wrong = cluster::failure_of([&] {
      replaced =
          replace_placeholders(text, [&](const std::string& name) { return text_for(name, open); });
    });
    if (!failure) failure = wrong;
    return replaced;
  };
  way_.push_back(&open);
  std::optional<Config> config;
  const std::exception_ptr wrong =
      cluster::failure_of([&] { config = read_config(experiment_.table(), sources); });
  if (!failure) failure = wrong;
  if (failure) std::rethrow_exception(failure);
  way_.pop_back();
  return *config;
}

std::optional<std::string> StageReader::text_for(const std::string& name, Open& open) {
  constexpr std::string_view kStage = "stage.";
  constexpr std::string_view kRounds = "rounds.";
  constexpr std::string_view kPrevious = "previous.";
  if (is_axis(name)) return value_of(name, open);
  if (name == "phase") return value_of("round", open) == "0" ? "first" : "later";
  if (name.starts_with(kStage)) return output_of(name.substr(kStage.size()), open.values, open);
  if (name.starts_with(kRounds)) return output_of_rounds(name.substr(kRounds.size()), open);
  if (name.starts_with(kPrevious)) return previous_output(name.substr(kPrevious.size()), open);
  return std::nullopt;
}

std::string StageReader::value_of(const std::string& name, Open& open) const {
  const auto value = open.values.find(name);
  if (value == open.values.end())
    refuse_stage(open.file, "`${" + name + "}` has no value: `experiment." + name + "s` is empty",
                 "experiment." + name + "s=[" + (name == "eta" ? "0.5" : "NAME") + "]");
  open.used.insert(*value);
  return value->second;
}

/// Returns the index of the stage that `file_name`.yaml makes with these values, and adds it to
/// Open::before. For each name whose value this stage uses, also adds the value of this name in
/// Open::values to Open::used.
std::size_t StageReader::stage_before(const std::string& file_name, const CellValues& values,
                                      Open& open) {
  if (!is_plain_name(file_name))
    refuse_stage(open.file, "`" + file_name + "` is not the name of a stage",
                 "a file of experiment.folder without .yaml, such as ${stage.reference}");
  if (help_if_missing(keys_.folder / (file_name + ".yaml")))
    refuse_stage(open.file, "there is no stage `" + file_name + "` in experiment.folder",
                 "the name of a file in " + keys_.folder.string() + ", without .yaml");
  const std::size_t index = stage_of(file_name, values);
  open.before.insert(index);
  for (const auto& [name, value] : stages_[index].values)
    open.used.insert({name, open.values.at(name)});
  return index;
}

std::string StageReader::output_of(const std::string& file_name, const CellValues& values,
                                   Open& open) {
  const std::size_t index = stage_before(file_name, values, open);
  return unexpanded_path(stages_[index].output.string());
}

std::string StageReader::previous_output(const std::string& file_name, Open& open) {
  const int round = std::stoi(value_of("round", open));
  if (round == 0)
    refuse_stage(open.file, "`${previous." + file_name + "}` has no value in round 0",
                 "include: [NAME_${phase}.yaml], with NAME_first.yaml for round 0 and "
                 "NAME_later.yaml for the others");
  CellValues values = open.values;
  values["round"] = std::to_string(round - 1);
  return output_of(file_name, values, open);
}

/// Returns the path that replaces ${rounds.`names`}: OUTPUT/kAllRounds, a folder that does not
/// exist (joined_rounds.hpp). OUTPUT is the output of the named stage in the round of `open`.
/// `names` is NAME, or FIRST.LATER if round 0 has stage FIRST and later rounds have stage LATER.
/// Adds the stages of earlier rounds to Open::rounds.
std::string StageReader::output_of_rounds(const std::string& names, Open& open) {
  const std::string first = names.substr(0, names.find('.'));
  const std::string later = names.substr(names.find('.') + 1);  // all of `names` if it has no dot
  const int round = std::stoi(value_of("round", open));
  std::vector<std::size_t> stages;
  for (int r = 0; r <= round; ++r) {
    CellValues values = open.values;
    values["round"] = std::to_string(r);
    stages.push_back(stage_before(r == 0 ? first : later, values, open));
  }
  const std::size_t last = stages.back();
  std::erase(stages, last);  // all rounds share one stage if its file does not use the round
  const auto [known, is_new] = open.rounds.try_emplace(last, stages);
  if (!is_new && known->second != stages)
    refuse_stage(
        open.file,
        "`${rounds." + names +
            "}` and another placeholder join the rows of one stage with those of different "
            "earlier stages",
        "use the same placeholder in both places");
  return unexpanded_path(stages_[last].output.string()) + "/" + kAllRounds;
}

void StageReader::add(const Open& open, const Config& config) {
  const std::string name = stage_name(open.file_name, open.used);
  const Config own = with_output(with_shared_keys(config, keys_), experiment_, name);
  Stage stage{.name = name, .config = own, .file = open.file, .output = output_folder(own)};
  stage.file_name = open.file_name;
  stage.values = open.used;
  stage.rounds = open.rounds;
  stage.after.assign(open.before.begin(), open.before.end());
  if (const auto wish = keys_.ranks.find(open.file_name); wish != keys_.ranks.end())
    stage.wish = wish->second;
  stages_.push_back(std::move(stage));
}

}  // namespace mgpu::jobs
