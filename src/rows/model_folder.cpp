#include <algorithm>
#include <optional>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/config/config_problem.hpp>
#include <mgpu/config/key_table.hpp>
#include <mgpu/formats/hub_cache.hpp>
#include <mgpu/formats/weight_files.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/store/run_dir/repro.hpp>

namespace mgpu::rows {
namespace {

namespace fs = std::filesystem;

bool has_file(const fs::path& path) {
  std::error_code missing;
  return fs::is_regular_file(path, missing);
}

[[noreturn]] void refuse_model(const Config& config, const std::string& key, std::string sentence,
                               std::string help) {
  throw ConfigFailure({{"E603", std::move(sentence), config.place(key), "", std::move(help)}},
                      ExitCode::no_input);
}

/// Returns NAME if the path is .../NAME/latest/..., where a training with run.name=NAME writes.
/// Returns "" for other paths.
std::string run_name_in(const fs::path& folder) {
  const auto latest = std::find(folder.begin(), folder.end(), "latest");
  if (latest == folder.end() || latest == folder.begin()) return "";
  return std::prev(latest)->string();
}

/// Returns a help text for a model whose training has not run yet. `name` is the run.name of the
/// training.
std::string training_command(const std::string& name) {
  const fs::path conf = fs::path("conf") / "train" / (name + ".yaml");
  if (has_file(conf))
    return "make the model first: launch/run.sh " + store::shell_word(conf.string());
  return "the run with run.name=" + name + " makes this folder: start that run first";
}

/// Returns a command that downloads a model of the Hugging Face hub. Returns "" if the path that
/// the user wrote cannot be the name of such a model. Also returns "" if the parent of `folder`
/// exists, because the user then probably means a local folder.
std::string download_command(const Config& config, const fs::path& folder, const std::string& key) {
  const std::string& written = config.written(key);
  const bool has_parts = std::count(written.begin(), written.end(), '/') == 1;
  std::error_code missing;
  if (!has_parts || !formats::is_hub_name(written) || fs::exists(folder.parent_path(), missing))
    return "";
  const std::string local = "models/" + written.substr(written.find('/') + 1);
  return "hf download " + written + " --local-dir " + local + " and then " + key + "=" + local;
}

/// Refuses a model whose copy in the Hugging Face cache is incomplete. `folder` is the resolved
/// value of `key`:
/// - the copy, if the copy has a config.json
/// - otherwise the path that the user wrote
///
/// Does nothing if the cache has no incomplete copy. Also does nothing if `folder` exists and is
/// not the copy, because this program then does not take the model from the cache.
void refuse_incomplete_copy(const Config& config, const fs::path& folder, const std::string& key) {
  const std::string& written = config.written(key);
  const std::optional<formats::HubCopy> copy = formats::find_hub_copy(written);
  std::error_code missing;
  if (!copy || copy->problem.empty()) return;
  if (copy->folder != folder && fs::exists(folder, missing)) return;
  refuse_model(config, key,
               "the copy of " + written + " in the Hugging Face cache is not complete: " +
                   copy->problem + ": " + copy->folder.string(),
               "hf download " + written +
                   (has_file(copy->folder / "config.json") ? "; --plan needs no weights" : ""));
}

/// Returns a help text for a folder that was not found. For an absolute path, the text says that
/// the key names a Hugging Face folder. For a relative path, the text says at which folder the path
/// starts, because users often assume the wrong folder.
std::string start_of_path(const Config& config, const std::string& key) {
  if (fs::path(config.written(key)).is_absolute()) {
    return key + " is a Hugging Face folder, such as a training writes";
  }
  return config.place(key).line > 0 ? "a path in a file starts at the folder of that file"
                                    : "a path of the command line starts at the working directory";
}

std::string help_for_missing_model(const Config& config, const fs::path& folder,
                                   const std::string& key) {
  if (const std::string name = run_name_in(folder); !name.empty()) return training_command(name);
  const std::string download = download_command(config, folder, key);
  return download.empty() ? start_of_path(config, key) : download;
}

/// Returns a help text for a folder without config.json. If `folder` is a run directory, or the
/// folder of all runs with one run.name, the text names the subfolder with the weights. Otherwise
/// the text asks for the folder of a model.
std::string help_for_other_folder(const fs::path& folder, const std::string& key) {
  for (const char* below : {"ckpt/last", "latest/ckpt/last"})
    if (has_file(folder / below / "config.json")) return store::path_argument(key, folder / below);
  return "name the folder that has config.json and the weights";
}

}  // namespace

void check_model_config(const Config& config, const fs::path& folder, const std::string& key) {
  if (has_file(folder / "config.json")) return;
  refuse_incomplete_copy(config, folder, key);
  std::error_code missing;
  if (fs::is_directory(folder, missing)) {
    refuse_model(config, key, "the folder has no config.json: " + folder.string(),
                 help_for_other_folder(folder, key));
  }
  refuse_model(config, key, "there is no such folder: " + folder.string(),
               help_for_missing_model(config, folder, key));
}

void check_model_folder(const Config& config, const fs::path& folder, const std::string& key) {
  check_model_config(config, folder, key);
  refuse_incomplete_copy(config, folder, key);
  if (formats::has_weight_files(folder)) return;
  const KeySpec* init = config.table().find("model.init");
  const bool may_be_random =
      key == "model.path" && init != nullptr && init->is_read_by(read_job_name(config));
  refuse_model(config, key, "the folder has no weights: " + folder.string(),
               may_be_random
                   ? "a training with random weights takes this folder: " + key + "=null " +
                         store::path_argument("model.init", folder) + "; --plan needs no weights"
                   : "download the weights, too; --plan needs none");
}

run::FileCheck model_folder_check(const Config& config, const fs::path& folder) {
  return {folder.string(), [&config, folder](const cluster::Group& world) {
            return cluster::on_rank_0(world, [&] {
              check_model_folder(config, folder);
              return describe_model(folder);
            });
          }};
}

}  // namespace mgpu::rows
