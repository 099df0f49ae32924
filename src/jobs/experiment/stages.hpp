#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>
#include <mgpu/config/file_provider.hpp>

#include "cell_values.hpp"
#include "keys.hpp"
#include "schedule.hpp"

namespace mgpu::jobs {

/// An input of a stage: a file or folder that another stage writes, and that a key in the
/// configuration of this stage names.
struct StageInput {
  std::string key;                     // the key, such as "model.path"
  std::size_t from = 0;                // index of the other stage
  std::filesystem::path relative;      // below the run directory of that stage: "ckpt/last"
  std::vector<std::size_t> earlier{};  // stages of earlier rounds whose rows come before those of
                                       // `from`, in order of rounds; empty: rows of `from` only
};

/// A stage of an experiment: the configuration of the job that it runs, and its relations to other
/// stages.
struct Stage {
  std::string name;
  Config config;                 // contents of `file`, with the keys that the experiment sets
  std::filesystem::path file;    // the file NAME.yaml that describes the stage
  std::filesystem::path output;  // folder `latest` of the stage's runs; keys of other stages that
                                 // read the output have paths in this folder
  std::string file_name{};       // name of `file` without .yaml
  CellValues values{};           // values that the stage uses (see StageReader)
  /// Describes the placeholders ${rounds.NAME} in the file. Such a placeholder names one stage for
  /// each round up to the round of this stage. The key of the map is the index of the named stage
  /// of the last of these rounds. The value lists the named stages of the earlier rounds, in the
  /// order of rounds.
  std::map<std::size_t, std::vector<std::size_t>> rounds{};
  std::vector<StageInput> inputs{};    // files that the stage reads from other stages
  std::vector<std::size_t> after{};    // indices of the stages for which it waits, ascending
  std::vector<std::string> exports{};  // formats of --export whose files other stages read
  std::vector<int> sizes{};            // numbers of ranks that can run the stage; set by
                                       // choose_sizes()
  int wish = 0;                        // experiment.ranks of the stage; 0 if not set
  double preference = 0.0;             // see set_preferences()
};

/// One evaluation of an algorithm, with one data set, model, round and eta.
struct Cell {
  CellValues values;           // the algorithm, and the values that the evaluation uses
  std::size_t evaluation = 0;  // index of the stage that evaluates the cell
};

/// The stages of an experiment, and the cells that they evaluate.
struct StageGraph {
  std::vector<Stage> stages;
  std::vector<Cell> cells;
};

/// Reads the configurations of all stages, and finds for which other stages each stage waits.
/// `config` is the configuration of the experiment. Stage::sizes stays empty; see choose_sizes().
///
/// Ranks:  collective over the group of `files`.
/// Errors: those of reading a configuration, and those of find_order(). Failure (exit 78):
///         - E107 for a name in experiment.after or experiment.ranks that is not the file name of a
///           stage
///         - E124 for a stage that is an experiment itself, and for an algorithm without a file
///         - E124 for a placeholder that has no value or names no stage, and for a cycle of stages
StageGraph read_graph(const ExperimentConfig& keys, const Config& config,
                      const FileProvider& files);

/// Sets Stage::sizes to the numbers of ranks, at most `ranks`, on which the stage can run. Tries
/// all numbers up to 16, the numbers 2^n and 3 * 2^n above 16, and `ranks`.
/// Ranks:  local.
/// Errors: Failure if a stage can run on no number of ranks. The Failure says why it cannot run on
///         one rank.
void choose_sizes(std::vector<Stage>& stages, int ranks);

/// Returns the StageNeed of each stage, for Schedule.
std::vector<StageNeed> needs_of(const std::vector<Stage>& stages);

/// Returns the job of a stage and the stages that it waits for: "job train, after a, b".
std::string description(const std::vector<Stage>& stages, const Stage& stage);

/// Returns the configuration of a stage, in which the keys of its inputs have the paths that
/// path_of() returns. If `is_plan` is true, path_for_plan() returns these paths instead. Makes no
/// files: join_rounds() makes the files with the rows of several rounds. `directories` has the run
/// directories of other stages by index.
///
/// Ranks:  local.
Config with_inputs(const Stage& stage, const std::map<std::size_t, std::string>& directories,
                   bool is_plan = false);

}  // namespace mgpu::jobs
