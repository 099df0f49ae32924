#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <mgpu/config/config.hpp>

#include "stages.hpp"

namespace mgpu::jobs {

/// The contents of the files of a model folder except its weights, by file name.
using ModelFiles = std::map<std::string, std::string>;

/// Returns the files of the model that a stage trains; none if it trains no language model. Local.
/// `config`: the stage's configuration with its inputs.
ModelFiles trained_model_files(const Config& config);

/// Folders that take the place of the run directories of stages that have not run, so that plans
/// can read the configuration of a model before it is trained. The destructor removes them.
class StandIns {
public:
  /// Errors: Failure E601 (exit 73) if there is no temporary folder.
  StandIns();
  ~StandIns();
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;
  StandIns(StandIns&&) = delete;
  StandIns& operator=(StandIns&&) = delete;

  /// Makes the folder of stage `index`, and returns its path. The folder has the inputs of other
  /// stages: model folders with the files `of_model`, and empty files of rows. Local.
  /// Errors: Failure E602 (exit 74).
  std::filesystem::path make(const std::vector<Stage>& stages, std::size_t index,
                             const ModelFiles& of_model) const;

  /// Returns the folder in which make() makes the folder of each stage. Its name is the stage's
  /// index.
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

}  // namespace mgpu::jobs
