#include <filesystem>
#include <fstream>
#include <functional>

#include <mgpu/app/load_config.hpp>
#include <mgpu/app/look_first.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/store/results/export_guide004.hpp>
#include <mgpu/store/results/export_lines.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "jobs/classify/export.hpp"

namespace mgpu::app {
namespace {

namespace fs = std::filesystem;

/// A finished file of a run, and what it was made with.
struct RunResults {
  fs::path path;
  std::string model;
  std::string data;
};

/// The result file that the run's configuration names.
RunResults results_of(const fs::path& folder) {
  const bool is_finished = store::is_finished_run(folder);  // E609 where there is no run at all
  Options options;
  options.config = (folder / "repro" / "config.resolved.yaml").string();
  const Config config = load_config(options, program_keys(), FileProvider::alone());
  const fs::path results = folder / store::read_store_config(config).result_file;
  if (fs::exists(results)) return {results, config.text("model.path"), config.text("data.path")};
  throw Failure({"E603",
                 ExitCode::no_input,
                 is_finished ? "the run's result file is gone" : "the run has no result file yet",
                 {"  --> " + results.string()},
                 is_finished ? "" : "--merge " + folder.string() + " makes one of what is there"});
}

/// Returns their number.
std::int64_t write_lines(const fs::path& results, const fs::path& path, bool as_csv) {
  std::ofstream file(path, std::ios::binary);
  const std::int64_t rows = as_csv ? jobs::export_labels(results, file)
                                   : store::export_json_lines(results, "samples", file);
  file.close();
  if (file) return rows;
  throw Failure({"E602", ExitCode::io, "cannot write the lines", {"  --> " + path.string()}, ""});
}

/// The file appears whole or not at all. Returns what `write` does.
std::int64_t write_whole(const fs::path& path,
                         const std::function<std::int64_t(const fs::path&)>& write) {
  const fs::path unfinished = path.string() + ".part";
  try {
    const std::int64_t rows = write(unfinished);
    fs::rename(unfinished, path);
    return rows;
  } catch (...) {
    std::error_code is_gone;
    fs::remove(unfinished, is_gone);
    throw;
  }
}

}  // namespace

ExitCode export_run(const Options& options, std::ostream& out) {
  const RunResults results = results_of(options.config);
  const bool as_csv = options.detail == "csv";
  fs::path path = fs::path(results.path).replace_extension(as_csv ? "csv" : "jsonl");
  std::int64_t rows = 0;
  if (options.detail == "guide004") {
    path = results.path.parent_path() / "teacher_logits.h5";
    rows = write_whole(path, [&](const fs::path& file) {
      return store::export_guide004(results.path, file, path.parent_path() / "metadata.json",
                                    {results.model, results.data});
    });
  } else {
    rows = write_whole(
        path, [&](const fs::path& file) { return write_lines(results.path, file, as_csv); });
  }
  out << "wrote " << path.string() << ": " << report::grouped(rows) << " rows\n" << std::flush;
  return ExitCode::done;
}

}  // namespace mgpu::app
