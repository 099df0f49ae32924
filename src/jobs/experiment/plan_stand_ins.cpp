#include "plan_stand_ins.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>

#include <mgpu/base/error.hpp>
#include <mgpu/jobs/job.hpp>

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw Failure({"E602",
                 ExitCode::io,
                 "a temporary file of --plan cannot be written: " + why,
                 {"  --> " + path.string()},
                 "make room in the folder for temporary files, or set TMPDIR to another one"});
}

/// Errors: Failure E602 (exit 74).
void write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) refuse(path, std::generic_category().message(errno));
}

/// Errors: Failure E602 (exit 74).
void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse(folder, error.message());
}

/// Returns whether an input is the folder of a trained model, and not a file of rows. A path
/// without a file extension counts as such a folder.
bool is_model_folder(const StageInput& input) {
  return !input.relative.has_extension();
}

}  // namespace

ModelFiles trained_model_files(const Config& config) {
  const JobSpec& job = job_of(config);
  return job.model_files == nullptr ? ModelFiles{} : job.model_files(config);
}

StandIns::StandIns() {
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string name = (parent / "mgpu_plan_XXXXXX").string();
  if (!error && mkdtemp(name.data()) != nullptr) {
    path_ = name;
    return;
  }
  if (!error) error = std::error_code(errno, std::generic_category());
  throw Failure({"E601",
                 ExitCode::cannot_create,
                 "there is no folder for temporary files: " + error.message(),
                 {"  --> " + parent.string()},
                 "set TMPDIR to a folder that you may write to"});
}

StandIns::~StandIns() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path StandIns::make(const std::vector<Stage>& stages, std::size_t index,
                        const ModelFiles& of_model) const {
  const fs::path folder = path_ / std::to_string(index);
  make_folder(folder);
  for (const Stage& reader : stages) {
    for (const StageInput& input : reader.inputs) {
      const fs::path path = folder / input.relative;
      if (input.from != index || fs::exists(path)) continue;
      make_folder(is_model_folder(input) ? path : path.parent_path());
      if (!is_model_folder(input)) write(path, "");
      if (is_model_folder(input))
        for (const auto& [name, text] : of_model)
          write(path / name, text);
    }
  }
  return folder;
}

}  // namespace mgpu::jobs
