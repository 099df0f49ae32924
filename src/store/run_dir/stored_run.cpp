// Defines runs_folder(), and the functions that return facts from the run.json of a run.
#include <mgpu/store/run_dir/run_directory.hpp>

#include "run_record.hpp"

namespace mgpu::store {

std::filesystem::path runs_folder(const std::filesystem::path& output) {
  const fs::path folder = (output / "").lexically_normal().parent_path();  // no slash at the end
  return folder.filename() == "outputs" ? folder.parent_path() / "runs" : folder / "runs";
}

bool is_finished_run(const std::filesystem::path& run_directory) {
  return RunRecord::read(run_directory).finished;
}

std::string identity_of_run(const std::filesystem::path& run_directory) {
  return RunRecord::read(run_directory).identity;
}

std::map<std::string, std::string> keys_of_run(const std::filesystem::path& run_directory) {
  return RunRecord::read(run_directory).keys;
}

std::map<std::string, std::string> inputs_of_run(const std::filesystem::path& run_directory) {
  return RunRecord::read(run_directory).inputs;
}

int format_of_run(const std::filesystem::path& run_directory) {
  return RunRecord::read(run_directory).format;
}

}  // namespace mgpu::store
