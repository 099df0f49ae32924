#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "stages.hpp"

namespace mgpu::jobs {

/// Returns the folder whose folder NAME has the runs of stage NAME. All runs of an experiment with
/// one run.name share it.
std::filesystem::path stages_folder(const store::StoreConfig& experiment);

/// Where the stages of an experiment run.
struct StagePlace {
  std::filesystem::path folder;  // stages_folder()
  DeviceKind device = DeviceKind::cpu;
};

/// The file in the run directory of a finished stage with its StageEnd as JSON.
inline constexpr const char* kOutcomeFile = "outcome.json";

/// The settings with which a stage would run, and an earlier run that makes it unnecessary.
struct PreparedStage {
  std::string chunk_size;  // value of run.chunk_size
  /// Identity of a run of the stage (see store::RunRequest): its keys, and the size and time of
  /// change of every file that they name. Files of other stages count by their path.
  std::string identity;
  /// The newest finished run of this identity, if it has results, the file outcome.json and all
  /// exports that other stages read; otherwise "".
  std::filesystem::path earlier{};
};

/// Checks the files of a stage, and looks for an earlier run. `directories`: the run directories of
/// the stages before it, by index. Local.
/// Errors: those of Job::check_files().
PreparedStage prepare_stage(const Stage& stage, const StagePlace& place,
                            const std::map<std::size_t, std::string>& directories);

/// Says for each stage whether a run would reuse an earlier run, or why not. Local.
/// Errors: those of prepare_stage().
std::vector<std::string> stage_plans(const std::vector<Stage>& stages, const StagePlace& place);

}  // namespace mgpu::jobs
