#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include <mgpu/store/run_dir/run_directory.hpp>

namespace mgpu::store {

/// The content of run.json: the identity of a run, its inputs, and whether it is finished.
struct RunRecord {
  std::string name;
  std::string job;
  std::string identity;
  std::map<std::string, std::string> keys;
  std::map<std::string, std::string> inputs;  // see RunDirectory::record_inputs()
  std::string created;
  bool finished = false;
  int format = kNewestRunFormat;  // format of the journal and the results

  /// Writes run.json. Errors: Failure E601 (cannot be created), E602 (write failed).
  void write(const std::filesystem::path& folder) const;

  /// Reads run.json.
  /// Errors: Failure
  ///         - E609 (exit 66): run.json is missing or not a regular file
  ///         - those of read_file(): run.json cannot be read
  ///         - E604 (exit 80): run.json cannot be parsed
  ///         - E605 (exit 65): the format is unknown, because a newer version wrote run.json
  static RunRecord read(const std::filesystem::path& folder);
};

}  // namespace mgpu::store
