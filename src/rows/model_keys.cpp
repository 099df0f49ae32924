#include <algorithm>
#include <functional>
#include <string>

#include <mgpu/base/missing_file.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/config/check_all.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/config/config_problem.hpp>
#include <mgpu/input/row_file.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/rows/kept_columns.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/run/chunk_keys.hpp>

namespace mgpu::rows {
namespace {

constexpr datasets::Split kSplit = datasets::Split::test;  // the split if data.split is `auto`

void require(const Config& config, const char* name, const char* what) {
  if (!config.is(name, "null")) return;
  throw config.problem("E114", name,
                       "job " + read_job_name(config) + " needs `" + std::string(name) + "`", what);
}

/// Refuses groups of different sizes with model.parallel=tensor, because the rounding of sums
/// depends on the size of the group.
void check_groups(const Config& config) {
  if (lm::read_group_plan(config).split == lm::Split::pipeline) return;
  const std::vector<int> sizes = cluster::read_groups(config);
  if (std::ranges::adjacent_find(sizes, std::ranges::not_equal_to()) == sizes.end()) return;
  throw config.problem("E124", "devices.groups",
                       "with model.parallel=tensor and groups of several sizes, what comes of "
                       "a sample would depend on the group that it comes to",
                       "model.parallel=pipeline, or groups of one size: devices.groups=[" +
                           std::to_string(sizes.front()) + "]");
}

/// Refuses keys about the format of a file if the rows come from a data set.
void check_no_format(const Config& config) {
  if (datasets::dataset_of(config) == nullptr) return;
  for (const std::string& name : config.not_default())
    if (input::is_format_key(name))
      throw config.problem("E124", name, "`" + name + "` has no meaning without `data.path`",
                           "remove it");
}

}  // namespace

void add_model_folder_keys(KeyTable& table) {
  table.add({.name = "model.path",
             .type = KeyType::path,
             .default_value = "null",
             .summary = "Hugging Face folder of a language model (config.json, safetensors, "
                        "tokenizer.json), or its name in the local Hugging Face cache",
             .choices = {"null"},
             .is_model = true,
             .foreign = {{"model_name_or_path", "TRL", "here it is `model.path`, a folder"}}});
}

void check_dataset_keys(const Config& config, datasets::Split otherwise) {
  if (datasets::dataset_of(config) != nullptr && !config.is("data.path", "null")) {
    const std::string key = datasets::key_of_dataset(config);
    throw config.problem("E124", key, "`" + key + "` has no meaning together with `data.path`",
                         "remove one of them");
  }
  datasets::read_dataset(config, otherwise);
}

void check_model_keys(const Config& config, const char* data) {
  check_all({[&] { require(config, "model.path", "model.path=FOLDER, as Hugging Face has it"); },
             [&] {
               if (datasets::dataset_of(config) == nullptr) require(config, "data.path", data);
             },
             [&] { check_dataset_keys(config, kSplit); }, [&] { check_no_format(config); },
             [&] { check_groups(config); }, [&] { run::check_chunk_keys(config); }});
}

std::filesystem::path read_model_path(const Config& config) {
  return config.text("model.path");
}

ModelRowKeys read_model_row_keys(const Config& config) {
  ModelRowKeys keys{.folder = read_model_path(config),
                    .options = input::read_row_options(config),
                    .chat = read_chat_choice(config),
                    .dataset = datasets::read_dataset(config, kSplit),
                    .keep_columns = read_keep_columns(config),
                    .model = run::read_model_keys(config)};
  if (keys.dataset) keys.options.generated = keys.dataset->rows;
  return keys;
}

std::int64_t auto_chunk_size(const ModelRowKeys& keys, std::int64_t results_per_row) {
  // All data with at least this many rows get the same chunk size, so further rows are not counted.
  constexpr std::int64_t kEnough = 64 * run::kLargestAutoChunk;
  try {
    return run::auto_chunk_size(input::count_rows(keys.options, kEnough), results_per_row);
  } catch (const Failure&) {
    return 1;
  }
}

void check_data_file(const Config& config, const input::RowOptions& rows, const char* help) {
  if (rows.generated) return;
  const auto missing = missing_file(rows.path);
  if (!missing) return;
  throw ConfigFailure({{"E603", *missing, config.place("data.path"), "", help}},
                      ExitCode::no_input);
}

}  // namespace mgpu::rows
