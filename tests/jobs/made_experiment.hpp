#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/config/file_provider.hpp>

#include "jobs/experiment/keys.hpp"
#include "jobs/experiment/stages.hpp"
#include "support/made_config.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::jobs::test {

using testing_support::config_of;
using testing_support::Keys;
using testing_support::report_of_failure;

/// An experiment x with a folder of stage files, which is empty at first.
class MadeExperiment {
public:
  MadeExperiment() { std::filesystem::create_directory(files()); }

  std::filesystem::path files() const { return folder_.path() / "files"; }
  std::filesystem::path file(const std::string& name) const { return files() / (name + ".yaml"); }
  std::filesystem::path outputs() const { return folder_.path() / "outputs"; }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
  }

  Config config(const Keys& more) const {
    Keys keys = {{"job", "experiment"},
                 {"run.name", "x"},
                 {"run.output", outputs()},
                 {"experiment.folder", files()}};
    for (const auto& [name, value] : more)
      keys[name] = value;
    return config_of(keys);
  }

  StageGraph graph(const Keys& more) const {
    const Config config = this->config(more);
    return read_graph(read_experiment_config(config), config, FileProvider::alone());
  }

private:
  testing_support::TemporaryFolder folder_;
};

}  // namespace mgpu::jobs::test
