#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/app/commands.hpp>
#include <mgpu/config/nearest_name.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/store/results/file_inspection.hpp>
#include <mgpu/store/results/list_column.hpp>

#include "stored_results.hpp"

namespace mgpu::app {
namespace {

namespace fs = std::filesystem;

/// Refuses a result file without the table `samples`. Language-model training, for example, writes
/// no such table.
/// Errors: Failure E143 (exit 64) if the table is missing; those of store::require_sound().
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

/// Returns the export format of `job` whose name or alias is `name`.
/// Errors: Failure E143 (exit 64) if the job has no such format. The help of the failure names a
///         format with a similar name, or else all formats of the job.
run::ExportFormat format_of(const jobs::JobSpec& job, const std::string& name) {
  std::vector<std::string> names;
  for (const run::ExportFormat& format : jobs::export_formats(job)) {
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

/// Returns the configuration of the run in folder `options.config`, changed by the other options.
/// Errors: Failure E143 (exit 64) if the results depend on a key that they change.
Config config_to_export(const Options& options) {
  Config config = config_in(options.config);
  if (options.overrides.empty() && options.overlays.empty()) return config;
  Config changed = config_in(options.config, options);
  if (changed.identity() == config.identity()) return changed;
  std::vector<std::string> lines;
  for (const std::string& overlay : options.overlays)
    lines.push_back("  --> command line: --with " + overlay);
  for (const Override& given : options.overrides)
    lines.push_back("  --> command line: " + given.key + "=" + given.value);
  throw Failure({"E143", ExitCode::usage, "the command line changes what the run was made of",
                 std::move(lines), "leave out keys that change the results"});
}

}  // namespace

ExitCode export_run(const Options& options, std::ostream& out) {
  const fs::path folder = options.config;
  const Config config = config_to_export(options);
  const run::ExportFormat format = format_of(jobs::job_of(config), options.detail);
  const fs::path results = results_in(folder, config);
  require_samples(results, jobs::job_of(config));
  const std::int64_t rows = run::write_export(format, config, results);
  out << "wrote " << run::export_path(format, results).string() << ": " << report::grouped(rows)
      << " rows\n";
  if (format.name == "csv")
    out << "note: a spreadsheet takes a cell that begins with =, +, - or @ for a formula, so "
           "import "
           "the columns as text\n";
  out << std::flush;
  return ExitCode::done;
}

}  // namespace mgpu::app
