#include "matrix_keys.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include <mgpu/base/ascii.hpp>
#include <mgpu/config/check_all.hpp>

#include "cell_values.hpp"

namespace mgpu::jobs {
namespace {

constexpr const char* kAlgorithms = "experiment.algorithms";
constexpr const char* kRounds = "experiment.rounds";
constexpr const char* kBaseline = "experiment.baseline";
constexpr const char* kSelect = "experiment.select";
constexpr int kMostRounds = 1000;

void check_names(const Config& config, const char* key) {
  const std::vector<std::string> names = config.texts(key);
  for (const std::string& name : names)
    if (!is_plain_name(name, ".+"))
      throw config.problem(
          "E107", key,
          "a name here has letters, digits, `_`, `-`, `.` and `+`, unlike `" + name + "`",
          "it becomes a part of names of folders");
  if (std::set<std::string>(names.begin(), names.end()).size() < names.size())
    throw config.problem("E107", key, "a name comes twice", "remove one of the two");
}

/// Returns the enabled algorithms. If experiment.algorithms is a list, these are all its elements.
/// If it is a mapping, these are the names with the value `true`.
std::vector<std::string> enabled_algorithms(const Config& config) {
  const std::vector<std::string> names = config.texts(kAlgorithms);
  const std::vector<std::string> values = config.values(kAlgorithms);
  std::vector<std::string> enabled;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (values[i] == names[i] || values[i] == "true") enabled.push_back(names[i]);
  return enabled;
}

void check_algorithms(const Config& config) {
  check_names(config, kAlgorithms);
  const std::vector<std::string> names = config.texts(kAlgorithms);
  const std::vector<std::string> values = config.values(kAlgorithms);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (values[i] != names[i] && values[i] != "true" && values[i] != "false")
      throw config.problem(
          "E107", kAlgorithms,
          "`" + values[i] + "` does not say whether algorithm " + names[i] + " is enabled",
          "experiment.algorithms={" + names[i] + ": true}");
  if (!names.empty() && enabled_algorithms(config).empty())
    throw config.problem("E107", kAlgorithms, "no algorithm is enabled, so there is no work",
                         "experiment.algorithms={" + names.front() + ": true}");
}

/// Returns the algorithms of the experiment: the enabled ones, and experiment.baseline if that key
/// is set.
std::vector<std::string> algorithms_of(const Config& config) {
  std::vector<std::string> names = enabled_algorithms(config);
  if (config.is(kBaseline, "null")) return names;
  const std::string baseline = config.text(kBaseline);
  if (std::ranges::find(names, baseline) == names.end()) names.insert(names.begin(), baseline);
  return names;
}

void check_baseline(const Config& config) {
  const std::string name = config.text(kBaseline);
  if (config.is(kBaseline, "null") || is_plain_name(name, ".+")) return;
  throw config.problem("E107", kBaseline, "`" + name + "` is not the name of an algorithm",
                       "a file of experiment.folder without .yaml");
}

void check_select(const Config& config) {
  for (const std::string& name : config.texts(kSelect))
    if (!is_axis(name))
      throw config.problem("E107", kSelect,
                           "`" + name + "` is neither algorithm, dataset, model, round nor eta",
                           "experiment.select={algorithm: pita, round: 0}");
  Matrix all = read_matrix(config);
  all.part = {};
  if (values_of_cells(all).empty())
    throw config.problem("E107", kSelect, "no cell has the selected values",
                         "values of experiment.algorithms, .datasets, .models and .etas, and "
                         "rounds from 0 to experiment.rounds - 1");
}

/// Refuses --only I/N if there are more parts than combinations of algorithm, data set and model
/// (num_dealt()). Always accepts N = 1.
void check_part(const Config& config) {
  if (!has_algorithms(config)) return;  // check_experiment_keys() refuses parts
  const Matrix matrix = read_matrix(config);
  const int most = num_dealt(matrix);
  if (matrix.part.count <= std::max(most, 1)) return;
  throw config.problem("E124", "run.total_workers",
                       "there are " + std::to_string(matrix.part.count) + " parts and only " +
                           std::to_string(most) +
                           " combinations of algorithm, data set and model that they could share",
                       "--only 0/" + std::to_string(std::max(most, 1)));
}

}  // namespace

bool is_plain_name(std::string_view name, std::string_view more) {
  const std::string other = "_-" + std::string(more);
  return !name.empty() && has_only_alphanumeric_or(other, name) && name.front() != '.';
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

void add_matrix_keys(KeyTable& table) {
  table.add({.name = kAlgorithms,
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "algorithms: stage NAME.yaml evaluates algorithm NAME; {NAME: false} "
                        "leaves it out",
             .may_map = true});
  table.add({.name = "experiment.datasets",
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "values of ${dataset} in stage files, which are repeated for each"});
  table.add({.name = "experiment.models",
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "values of ${model} in stage files"});
  table.add({.name = "experiment.etas",
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "values of ${eta} in stage files, such as the strength of a guide"});
  table.add({.name = kRounds,
             .type = KeyType::integer,
             .default_value = "1",
             .summary = "number of rounds; ${round} is 0 in the first one",
             .min = 1,
             .max = kMostRounds});
  table.add({.name = "experiment.round_barrier",
             .type = KeyType::flag,
             .default_value = "false",
             .summary = "whether a round waits for the last round of all cells, and not only of "
                        "the same cell",
             .identity = false});
  table.add({.name = kBaseline,
             .type = KeyType::text,
             .default_value = "null",
             .summary = "algorithm that evaluates the reference model, for the closed form of the "
                        "best reward at a KL; it is always enabled",
             .choices = {"null"}});
  table.add({.name = kSelect,
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "only cells with these values: {algorithm: \"pita dpo\", round: 0}",
             .may_map = true});
}

void check_matrix_keys(const Config& config) {
  check_all({[&] { check_algorithms(config); }, [&] { check_names(config, "experiment.datasets"); },
             [&] { check_names(config, "experiment.models"); },
             [&] { check_names(config, "experiment.etas"); }, [&] { check_baseline(config); },
             [&] { check_select(config); }, [&] { check_part(config); }});
}

bool has_algorithms(const Config& config) {
  return !config.texts(kAlgorithms).empty();
}

Matrix read_matrix(const Config& config) {
  Matrix matrix;
  matrix.algorithms = algorithms_of(config);
  matrix.datasets = config.texts("experiment.datasets");
  matrix.models = config.texts("experiment.models");
  matrix.etas = config.texts("experiment.etas");
  matrix.rounds = static_cast<int>(config.integer(kRounds));
  matrix.has_barrier = config.flag("experiment.round_barrier");
  if (!config.is(kBaseline, "null")) matrix.baseline = config.text(kBaseline);
  const std::vector<std::string> names = config.texts(kSelect);
  for (std::size_t i = 0; i < names.size(); ++i)
    matrix.select[names[i]] = words_of(config.values(kSelect)[i]);
  matrix.part = run::read_job_keys(config).part;
  return matrix;
}

}  // namespace mgpu::jobs
