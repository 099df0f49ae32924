#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>

#include "stages.hpp"

namespace mgpu::jobs {

/// Maps the name of each file in a model's folder to the contents of the file. Files of weights are
/// left out.
using ModelFiles = std::map<std::string, std::string>;

/// Returns the files of the model that a stage trains; an empty map if the stage trains no language
/// model. `config` is the result of with_inputs() for the stage.
/// Ranks:  local.
ModelFiles trained_model_files(const Config& config);

/// Temporary folders that a plan uses instead of the run directories of stages that have not run.
/// Plans can then read the configuration of a model before it is trained. The destructor removes
/// the folders.
class StandIns {
public:
  /// Errors: Failure E601 (exit 73) if the temporary folder cannot be made.
  StandIns();
  ~StandIns();
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;
  StandIns(StandIns&&) = delete;
  StandIns& operator=(StandIns&&) = delete;

  /// Makes the stand-in folder of stage `index`, and returns its path. The folder contains what
  /// other stages read from this stage: model folders with the files `of_model`, and empty files of
  /// rows.
  /// Ranks:  local.
  /// Errors: Failure E602 (exit 74).
  std::filesystem::path make(const std::vector<Stage>& stages, std::size_t index,
                             const ModelFiles& of_model) const;

  /// Returns the folder in which make() makes one folder per stage. A stage's folder is named after
  /// the index of the stage.
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

}  // namespace mgpu::jobs
