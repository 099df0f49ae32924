#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "stages.hpp"

namespace mgpu::jobs {

/// Returns the path OUTPUT/RUN_NAME/stages of an experiment. The subfolder NAME has the run
/// directories of stage NAME. All runs of the experiment with the same run.name share this folder.
std::filesystem::path stages_folder(const store::StoreConfig& experiment);

/// The folder and the kind of device for the stages of an experiment.
struct StagePlace {
  std::filesystem::path folder;  // stages_folder()
  DeviceKind device = DeviceKind::cpu;
};

/// The file in a finished stage's run directory. It holds the StageEnd of that stage as JSON.
inline constexpr const char* kOutcomeFile = "outcome.json";

/// The settings with which a stage would run, and an earlier run whose results it can reuse.
struct PreparedStage {
  std::string chunk_size;  // value of run.chunk_size
  /// Identity of a run of the stage (see store::RunRequest). It covers the stage's keys, and the
  /// size and the time of the last change of every file that they name. Of files that other stages
  /// write, only the path counts.
  std::string identity;
  /// The newest finished run that has this identity, results.h5, outcome.json and all exports that
  /// other stages read; "" if no run has all of these.
  std::filesystem::path earlier{};
};

/// Checks the files of a stage unless `checks_files` is false, and looks for an earlier run.
/// Returns the stage's settings and that run. `directories`: the run directories of the stages
/// before it, by index of the stage. Local.
/// Errors: those of Job::check_files(), and of counting the rows of the data.
PreparedStage prepare_stage(const Stage& stage, const StagePlace& place,
                            const std::map<std::size_t, std::string>& directories,
                            bool checks_files = true);

/// Whether a run of the experiment would run a stage or reuse an earlier run of the stage.
struct StagePlan {
  std::string text;                 // says which earlier run is reused, or why the stage is new
  std::filesystem::path earlier{};  // earlier run that is reused; "": the stage is new
};

/// Returns for each stage whether a run would reuse an earlier run. Reads no weights. Local.
/// Errors: those of counting the rows of the data.
std::vector<StagePlan> stage_plans(const std::vector<Stage>& stages, const StagePlace& place);

/// The time that an earlier run of a stage took. Its settings may differ from those of the stage.
struct MeasuredWork {
  std::filesystem::path run;
  double rank_seconds = 0.0;  // sum over attempts of seconds times ranks
};

/// Returns the work of the newest finished run of the stage of which no attempt was killed; nullopt
/// without such a run. Local.
std::optional<MeasuredWork> measured_work(const StagePlace& place, const Stage& stage);

}  // namespace mgpu::jobs
