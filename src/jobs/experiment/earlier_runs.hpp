#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "stage_end.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// Returns the folder OUTPUT/RUN_NAME/stages of an experiment (run.output and run.name). Its
/// subfolder NAME has the run directories of stage NAME. All runs with this run.output and run.name
/// share the folder.
std::filesystem::path stages_folder(const store::StoreConfig& experiment);

/// The folder and the kind of device for the stages of an experiment.
struct StagePlace {
  std::filesystem::path folder;  // result of stages_folder()
  DeviceKind device = DeviceKind::cpu;
};

/// The name of a file in the run directory of a finished stage. The file contains the StageEnd of
/// the stage as JSON.
inline constexpr const char* kOutcomeFile = "outcome.json";

/// The settings with which a stage would run, and an earlier run whose results it can reuse.
struct PreparedStage {
  std::string chunk_size;  // value of run.chunk_size
  /// Identity of a run of the stage (see store::RunRequest). It covers the stage's keys that can
  /// change the results (KeySpec::identity), and the name, size and time of the last change of
  /// every file that these keys name. For a file that another stage writes, the identity covers
  /// only the path.
  std::string identity;
  /// Run directory of the newest run that can be reused; "" if there is no such run. A run can be
  /// reused if all of these conditions hold:
  /// - The run is finished, and its last recorded exit code is 0.
  /// - The run has this identity. If this stage has the value `auto` for a key of
  ///   run::device_keys(), such as a batch size on a GPU, the run may have chosen any number for
  ///   this key.
  /// - The run has its result file, outcome.json, and all exports that other stages read.
  std::filesystem::path earlier{};
  StageEnd end{};  // how `earlier` ended, if there is such a run
};

/// Looks for an earlier run of the stage. Returns this run and the settings of the stage. If
/// `checks_files` is true, first checks that the files of the stage exist (Job::check_files).
/// `directories` has the run directories of the stages for which this stage waits, by index.
/// Ranks:  local.
/// Errors: those of Job::check_files(), and of counting the rows of the data.
PreparedStage prepare_stage(const Stage& stage, const StagePlace& place,
                            const std::map<std::size_t, std::string>& directories,
                            bool checks_files = true);

/// Whether the experiment would run a stage, or reuse an earlier run of the stage.
struct StagePlan {
  std::string text;                 // says which earlier run is reused, or why the stage is new
  std::filesystem::path earlier{};  // earlier run that is reused; "": the stage is new
};

/// Returns for each stage whether the experiment would reuse an earlier run. Reads no weights.
/// Ranks:  local.
/// Errors: those of counting the rows of the data.
std::vector<StagePlan> stage_plans(const std::vector<Stage>& stages, const StagePlace& place);

/// The time that an earlier run of a stage took. The settings of that run may differ from those of
/// the stage.
struct MeasuredWork {
  std::filesystem::path run;  // run directory
  double rank_seconds = 0.0;  // sum over the attempts of seconds times number of ranks
};

/// Returns the time of the newest run of the stage that finished with exit code 0 and had no killed
/// attempt. Returns nullopt if there is no such run.
///
/// Ranks:  local.
std::optional<MeasuredWork> measured_work(const StagePlace& place, const Stage& stage);

}  // namespace mgpu::jobs
