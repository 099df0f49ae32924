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
  std::filesystem::path out;      // the file or folder to write; the caller renames it
};

/// A format in which --export can write the result file of a job.
struct ExportFormat {
  std::string_view name;   // "csv"
  std::string_view alias;  // a former name, or ""
  /// The name of the export, a file or a folder, in the run directory. If it is "", the export has
  /// the name of the result file, with `name` as its extension.
  std::string_view file_name;
  /// Writes request.out and returns the number of rows in it. Any rank may call it alone.
  std::int64_t (*write)(const ExportRequest& request);
};

/// The format jsonl: one JSON object for each row of table `samples`. Every job has this format, so
/// the result file of every job must have this table.
extern const ExportFormat kJsonLines;

/// Returns the path of the export of `results`, a result file.
std::filesystem::path export_path(const ExportFormat& format, const std::filesystem::path& results);

/// Writes the export of `results` next to it, and returns the number of rows. The export appears
/// only when it is complete. `config`: configuration of the exported run. Any rank may call it
/// alone.
/// Errors: those of format.write(), such as Failure E602 (exit 74) if a file cannot be written.
std::int64_t write_export(const ExportFormat& format, const Config& config,
                          const std::filesystem::path& results);

}  // namespace mgpu::run
