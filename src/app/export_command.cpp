#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <mgpu/app/commands.hpp>
#include <mgpu/config/nearest_name.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/store/results/export_lines.hpp>
#include <mgpu/store/results/file_inspection.hpp>
#include <mgpu/store/results/list_column.hpp>

#include "stored_results.hpp"

namespace mgpu::app {
namespace {

namespace fs = std::filesystem;

std::int64_t write_json_lines(const run::ExportRequest& request) {
  std::ofstream file(request.out, std::ios::binary);
  const std::int64_t rows = store::export_json_lines(request.results, "samples", file);
  file.close();
  if (file) return rows;
  throw Failure(
      {"E602", ExitCode::io, "cannot write the lines", {"  --> " + request.out.string()}, ""});
}

/// Refuses results without a table of samples. Language-model training writes such results.
/// Errors: Failure E143 (exit 64) if there is no such table; E604 (damaged) or E605 (not of this
///         program) if the file cannot be read.
void require_samples(const fs::path& results, const jobs::JobSpec& job) {
  store::require_sound(results);
  try {
    store::read_numbers(results, "samples");
    return;
  } catch (const Failure& failure) {
    if (failure.report().code != "E605") throw;
  }
  throw Failure({"E143",
                 ExitCode::usage,
                 "a run of job " + std::string(job.name) + " has no rows to export",
                 {},
                 "its results are in summary.json, and its curves in tb: tensorboard --logdir "
                 "FOLDER/tb"});
}

/// Returns the export format called `name`. Errors: E143 (exit 64), which lists the formats of the
/// job, if the job has no such format.
run::ExportFormat format_of(const jobs::JobSpec& job, const std::string& name) {
  const run::ExportFormat lines{"jsonl", "", "", write_json_lines};
  if (name == lines.name) return lines;
  std::vector<std::string> names{std::string(lines.name)};
  for (const run::ExportFormat& format : job.exports) {
    if (name == format.name || (!format.alias.empty() && name == format.alias)) return format;
    names.emplace_back(format.name);
  }
  std::string all;
  for (const std::string& known : names)
    all += (all.empty() ? "" : ", ") + known;
  const std::string nearest = nearest_name(name, names);
  throw Failure({"E143",
                 ExitCode::usage,
                 "job " + std::string(job.name) + " has no export format `" + name + "`",
                 {},
                 nearest.empty() ? "one of: " + all : "did you mean `" + nearest + "`?"});
}

/// Writes the export to a temporary file and renames it, so that it appears whole or not at all.
/// Returns the number of rows.
std::int64_t write_whole(const run::ExportFormat& format, run::ExportRequest request) {
  const fs::path path = request.out;
  request.out += ".part";
  try {
    const std::int64_t rows = format.write(request);
    fs::rename(request.out, path);
    return rows;
  } catch (...) {
    std::error_code is_gone;
    fs::remove(request.out, is_gone);
    throw;
  }
}

}  // namespace

ExitCode export_run(const Options& options, std::ostream& out) {
  const fs::path folder = options.config;
  const Config config = config_in(folder);
  const run::ExportFormat format = format_of(jobs::job_of(config), options.detail);
  const fs::path results = results_in(folder, config);
  require_samples(results, jobs::job_of(config));
  const fs::path path = format.file_name.empty()
                            ? fs::path(results).replace_extension(std::string(format.name))
                            : results.parent_path() / format.file_name;
  const std::int64_t rows = write_whole(format, {config, results, path});
  out << "wrote " << path.string() << ": " << report::grouped(rows) << " rows\n";
  if (format.name == "csv")
    out << "note: a spreadsheet takes a cell that begins with =, +, - or @ for a formula, so "
           "import "
           "the columns as text\n";
  out << std::flush;
  return ExitCode::done;
}

}  // namespace mgpu::app
