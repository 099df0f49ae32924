#include <filesystem>
#include <fstream>

#include <mgpu/app/load_config.hpp>
#include <mgpu/app/look_first.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/store/export_lines.hpp>
#include <mgpu/store/run_directory.hpp>
#include <mgpu/store/store_config.hpp>

namespace mgpu::app {
namespace {

namespace fs = std::filesystem;

/// The result file that the run's configuration names.
fs::path results_of(const fs::path& folder) {
  const bool is_finished = store::is_finished_run(folder);  // E609 where there is no run at all
  Options options;
  options.config = (folder / "repro" / "config.resolved.yaml").string();
  const Config config = load_config(options, program_keys(), FileProvider::alone());
  const fs::path results = folder / store::read_store_config(config).result_file;
  if (fs::exists(results)) return results;
  throw Failure({"E603",
                 ExitCode::no_input,
                 is_finished ? "the run's result file is gone" : "the run has no result file yet",
                 {"  --> " + results.string()},
                 is_finished ? "" : "--merge " + folder.string() + " makes one of what is there"});
}

/// Returns their number.
std::int64_t write_lines(const fs::path& results, const fs::path& path) {
  std::ofstream file(path, std::ios::binary);
  const std::int64_t rows = store::export_json_lines(results, "samples", file);
  file.close();
  if (file) return rows;
  throw Failure({"E602", ExitCode::io, "cannot write the lines", {"  --> " + path.string()}, ""});
}

}  // namespace

ExitCode export_run(const Options& options, std::ostream& out) {
  const fs::path folder = options.config;
  const fs::path results = results_of(folder);
  const fs::path lines = fs::path(results).replace_extension(options.detail);
  const fs::path unfinished = lines.string() + ".part";
  std::int64_t rows = 0;
  try {
    rows = write_lines(results, unfinished);
    fs::rename(unfinished, lines);
  } catch (...) {
    std::error_code is_gone;
    fs::remove(unfinished, is_gone);
    throw;
  }
  out << "wrote " << lines.string() << ": " << report::grouped(rows) << " rows\n" << std::flush;
  return ExitCode::done;
}

}  // namespace mgpu::app
