#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/config/config_reader.hpp>

#include "config_test_table.hpp"

namespace mgpu {

/// Reads configurations whose files are in memory, below /conf. The working directory is /work.
class ConfigReaderCase : public testing::Test {
protected:
  Config read(std::map<std::string, std::string> files, std::vector<std::string> overlays = {},
              std::vector<std::string> arguments = {}) {
    ConfigSources sources;
    sources.file = "../conf/run.yaml";
    sources.overlays = std::move(overlays);
    sources.working_directory = "/work";
    for (const std::string& argument : arguments) {
      const std::size_t equals = argument.find('=');
      sources.overrides.push_back({argument.substr(0, equals), argument.substr(equals + 1),
                                   "command line, argument 2", argument,
                                   static_cast<int>(equals) + 2});
    }
    sources.read = [&](const std::filesystem::path& path) {
      return files.at(path.lexically_normal().string());
    };
    sources.variable = [&](const std::string& name) {
      const auto found = environment_.find(name);
      return found == environment_.end() ? std::string() : found->second;
    };
    sources.find_model = [&](const std::filesystem::path& path, const std::string& name) {
      asked_models_.push_back(path.string() + " " + name);
      return name == "org/known" ? std::string("/cache/known") : std::string();
    };
    return read_config(table_, sources);
  }

  Config read_text(const std::string& text) { return read({{"/conf/run.yaml", text}}); }

  std::map<std::string, std::string> environment_ = {
      {"HOME", "/home/me"}, {"SCRATCH", "/scratch/me"}, {"RELATIVE", "sub"}, {"EMPTY", ""}};
  std::vector<std::string> asked_models_;
  KeyTable table_ = config_test_table();
};

inline const std::string kEmptyRun = "schema: 1\njob: train\n";

}  // namespace mgpu
