#include "plan_stand_ins.hpp"

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include <mgpu/base/error.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/recipes/recipe.hpp>

#include "recipes/lm/method.hpp"
#include "recipes/prm/keys.hpp"
#include "recipes/prm/method.hpp"
#include "recipes/reward/keys.hpp"
#include "recipes/reward/method.hpp"
#include "recipes/value/keys.hpp"
#include "recipes/value/method.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (file.flush()) return;
  throw Failure({"E602",
                 ExitCode::io,
                 "a file of --plan cannot be written",
                 {"  --> " + path.string()},
                 "make room in the folder for temporary files, or set TMPDIR to another one"});
}

/// Returns what knows the head of the model that the stage trains.
std::unique_ptr<const recipes::LmMethod> method_of(const Config& config) {
  const std::string_view recipe = recipes::recipe_of(config).name;
  if (recipe == "value")
    return std::make_unique<recipes::ValueMethod>(recipes::read_value_settings(config));
  if (recipe == "reward")
    return std::make_unique<recipes::RewardMethod>(recipes::read_reward_model_settings(config));
  if (recipe == "prm")
    return std::make_unique<recipes::PrmMethod>(recipes::read_prm_settings(config));
  return std::make_unique<recipes::LmMethod>();
}

/// Returns whether an input is a folder, such as that of a trained model, and not a file of rows.
bool is_model_folder(const StageInput& input) {
  return !input.relative.has_extension();
}

}  // namespace

ModelFiles trained_model_files(const Config& config) {
  if (read_job_name(config) != "train" || recipes::recipe_of(config).name == "ad") return {};
  const bool is_fresh = config.is("model.path", "null");
  return method_of(config)->model_files(config.text(is_fresh ? "model.init" : "model.path"));
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
  fs::create_directories(folder);
  for (const Stage& reader : stages) {
    for (const StageInput& input : reader.inputs) {
      const fs::path path = folder / input.relative;
      if (input.from != index || fs::exists(path)) continue;
      fs::create_directories(is_model_folder(input) ? path : path.parent_path());
      if (!is_model_folder(input)) write(path, "");
      if (is_model_folder(input))
        for (const auto& [name, text] : of_model)
          write(path / name, text);
    }
  }
  return folder;
}

}  // namespace mgpu::jobs
