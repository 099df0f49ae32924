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

/// A file or folder of another stage that a key of a stage names.
struct StageInput {
  std::string key;                     // "model.path"
  std::size_t from = 0;                // index of the other stage
  std::filesystem::path relative;      // below the run directory of that stage: "ckpt/last"
  std::vector<std::size_t> earlier{};  // stages of earlier rounds whose rows come first, in order
};

/// A job of an experiment.
struct Stage {
  std::string name;
  Config config;                 // of `file`, with the keys that the experiment sets
  std::filesystem::path file;    // the file NAME.yaml that describes the stage
  std::filesystem::path output;  // outputs/NAME/latest; paths of keys that read the output
                                 // begin with it
  std::string file_name{};       // NAME of that file
  CellValues values{};           // values that the file, or a stage before this one, uses
  /// For each stage that a ${rounds.NAME} stands for: the stages of earlier rounds, in order.
  std::map<std::size_t, std::vector<std::size_t>> rounds{};
  std::vector<StageInput> inputs{};    // what it reads from other stages
  std::vector<std::size_t> after{};    // stages to wait for, ascending
  std::vector<std::string> exports{};  // formats of --export whose files other stages read
  std::vector<int> sizes{};            // see StageNeed; set by choose_sizes()
  int wish = 0;                        // see StageNeed
  double preference = 0.0;             // see StageNeed
};

/// The evaluation of an algorithm on a data set with a model, after a round.
struct Cell {
  CellValues values;           // the algorithm, and the values that the evaluation uses
  std::size_t evaluation = 0;  // index of the stage that evaluates it
};

/// The stages of an experiment, and the cells that they belong to.
struct StageGraph {
  std::vector<Stage> stages;
  std::vector<Cell> cells;
};

/// Reads the configurations of all stages, and finds out which stages read the output of others.
/// `config` is the configuration of the experiment.
///
/// Ranks:  collective over the group of `files`.
/// Errors: those of reading a configuration. Failure (exit 78) E107 for a name in experiment.after
///         or experiment.ranks that is no stage. E124 for a stage that is an experiment itself, for
///         an algorithm without a stage, and for a placeholder without a value. E124 also for two
///         stages with one name or output, and for a cycle.
StageGraph read_graph(const ExperimentConfig& keys, const Config& config,
                      const FileProvider& files);

/// Sets Stage::sizes to the numbers of ranks up to `ranks` that the stages' jobs accept. It tries
/// all numbers up to 16, the powers of two, three times these, and `ranks`. Local.
/// Errors: if a job accepts no number, the Failure that it throws for one rank.
void choose_sizes(std::vector<Stage>& stages, int ranks);

/// Returns the needs of all stages, for the schedule.
std::vector<StageNeed> needs_of(const std::vector<Stage>& stages);

/// Returns the job of a stage and the stages that it waits for: "job train, after a, b".
std::string description(const std::vector<Stage>& stages, const Stage& stage);

/// Returns the configuration of a stage whose inputs are files in `directories`, the run
/// directories of the other stages by index. Local; join_rounds() makes the files with rows of
/// several rounds. `is_plan`: uses path_for_plan().
Config with_inputs(const Stage& stage, const std::map<std::size_t, std::string>& directories,
                   bool is_plan = false);

}  // namespace mgpu::jobs
