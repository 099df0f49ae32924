#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include <mgpu/config/config.hpp>

namespace mgpu::run {

/// Input and output of an export.
struct ExportRequest {
  const Config& config;           // of the run
  std::filesystem::path results;  // its result file
  std::filesystem::path out;      // the file to write; it is renamed afterwards
};

/// A format in which --export can write the result file of a job.
struct ExportFormat {
  std::string_view name;       // "csv"
  std::string_view alias;      // a former name, or ""
  std::string_view file_name;  // in the run directory; "": the result file's name with .`name`
  /// Writes the file and returns its number of rows. Local.
  std::int64_t (*write)(const ExportRequest& request);
};

}  // namespace mgpu::run
