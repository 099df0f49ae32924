#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include <mgpu/config/config.hpp>

namespace mgpu::run {

/// Input and output of an export.
struct ExportRequest {
  const Config& config;           // configuration of the exported run
  std::filesystem::path results;  // result file of the exported run
  std::filesystem::path out;      // the file to write; the caller renames it afterwards
};

/// A format in which --export can write the result file of a job.
struct ExportFormat {
  std::string_view name;   // "csv"
  std::string_view alias;  // a former name, or ""
  /// The file name of the export in the run directory. If it is "", the export has the name of the
  /// result file, with `name` as its extension.
  std::string_view file_name;
  /// Writes request.out and returns the number of rows in it. Any rank may call it alone.
  std::int64_t (*write)(const ExportRequest& request);
};

}  // namespace mgpu::run
