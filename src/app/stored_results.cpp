#include "stored_results.hpp"

#include <string>

#include <mgpu/app/load_config.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::app {

Config config_in(const std::filesystem::path& folder, const Options& given) {
  store::is_finished_run(folder);  // throws if the folder is no run directory
  Options options;
  options.config = (folder / "repro" / "config.resolved.yaml").string();
  options.overlays = given.overlays;
  options.overrides = given.overrides;
  return load_config(options, program_keys(), FileProvider::alone());
}

std::filesystem::path results_in(const std::filesystem::path& folder, const Config& config) {
  std::filesystem::path results = folder / store::read_store_config(config).result_file;
  if (std::filesystem::exists(results)) return results;
  const bool is_finished = store::is_finished_run(folder);
  throw Failure({"E603",
                 ExitCode::no_input,
                 is_finished ? "the run's result file is gone" : "the run has no result file yet",
                 {"  --> " + results.string()},
                 is_finished ? "" : "--merge " + folder.string() + " makes one of what is there"});
}

}  // namespace mgpu::app
