#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include <mgpu/config/config.hpp>

namespace mgpu::run {

/// What an export is made of, and where it goes.
struct ExportRequest {
  const Config& config;           // of the run
  std::filesystem::path results;  // its result file
  std::filesystem::path out;      // the file to write; it gets its final name afterwards
};

/// A format that --export can write of the result file of a job.
struct ExportFormat {
  std::string_view name;       // "csv"
  std::string_view alias;      // a former name; "" for none
  std::string_view file_name;  // in the run directory; "" for the result file's with .`name`
  /// Local. Returns the number of rows.
  std::int64_t (*write)(const ExportRequest& request);
};

}  // namespace mgpu::run
