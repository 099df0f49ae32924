#include "pt_export.hpp"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/datasets/registry.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/model_rows.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/run_dir/attempt_record.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>
#include <mgpu/tensor/pickle_file.hpp>

#include "keys.hpp"
#include "pt_reader.hpp"

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

using formats::JsonValue;

/// The rows [first, end) of a result file.
struct RowRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

/// Divides `rows` rows into `parts` contiguous ranges, and returns range number `part`. If the
/// division leaves a remainder, the first ranges have one row more.
RowRange range_of(std::int64_t rows, std::int64_t part, std::int64_t parts) {
  const auto begin = [&](std::int64_t p) { return p * (rows / parts) + std::min(p, rows % parts); };
  return {begin(part), begin(part + 1)};
}

/// The records of the questions in a range of rows, and counts of these questions.
struct Questions {
  c10::impl::GenericList records = tensor::pickle_list();
  std::int64_t right = 0;     // questions whose final answer is right
  std::int64_t paths = 0;     // nodes of all trees without the roots; the format calls them paths
  std::int64_t left_out = 0;  // rows without solutions

  std::int64_t count() const { return static_cast<std::int64_t>(records.size()); }

  void add(const Questions& others) {
    for (const c10::IValue& record : others.records)
      records.push_back(record);
    right += others.right;
    paths += others.paths;
    left_out += others.left_out;
  }
};

Questions questions_of(const PtReader& reader, RowRange range) {
  Questions questions;
  for (std::int64_t row = range.first; row < range.end; ++row) {
    if (!reader.is_used(row)) {
      ++questions.left_out;
      continue;
    }
    const PtQuestion question = reader.read(row);
    questions.records.push_back(record_of(question));
    questions.right += question.is_right ? 1 : 0;
    questions.paths += std::ssize(question.nodes);
  }
  return questions;
}

/// Returns the name of the data set, or the name of the data file without its extension.
std::string task_of(const Config& config, const CollectKeys& keys) {
  const datasets::DatasetEntry* dataset = datasets::dataset_of(config);
  return dataset != nullptr ? std::string(dataset->name) : keys.rows.options.path.stem().string();
}

/// Returns how the steps were made: collect.label without agents, or the method of the agents. If
/// agents think in latent steps and collect.num_paths is above 1, the result ends with
/// "_multipath".
std::string method_of(const CollectKeys& keys) {
  if (!keys.agents.is_used) return name_of(keys.label);
  const std::string method = name_of(keys.agents.method);
  return keys.agents.thinks() && keys.num_paths > 1 ? method + "_multipath" : method;
}

/// Returns the time at which the run in `folder` began, in UTC: 20251125_203000.
std::string time_of(const fs::path& folder) {
  std::string text = formats::parse_json_object(read_file(folder / "run.json"))
                         .get<std::string>("created");  // 2025-11-25T20:30:00Z
  std::erase_if(text, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  std::ranges::replace(text, 'T', '_');
  return text;
}

/// Returns the value of collect.pt_parts. `auto` stands for the number of ranks in run.h5. If there
/// is no run.h5, as in a stage of an experiment, `auto` stands for the number of ranks of the last
/// attempt.
std::int64_t parts_of(const Config& config, const fs::path& folder) {
  if (!config.is("collect.pt_parts", "auto")) return config.integer("collect.pt_parts");
  const fs::path how = folder / "run.h5";
  if (fs::exists(how)) return std::max<std::int64_t>(1, store::read_table(how, "ranks").rows);
  const auto attempts = store::attempts_of(folder);
  return attempts.empty() ? 1 : std::max(1, attempts.back().ranks);
}

/// Refuses a file of agents that has changed since the run read it. The export reads the names of
/// the agents from this file.
/// Errors: Failure E610 (exit 65).
void check_agents_file(const AgentKeys& keys, const fs::path& folder) {
  const auto inputs = store::inputs_of_run(folder);
  const auto then = inputs.find("collect.agents.path");
  if (then == inputs.end() || keys.path.empty()) return;
  const std::string text = read_file(keys.path);
  const std::string now = rows::checksum_text(crc32c(std::as_bytes(std::span(text))));
  if (now == then->second) return;
  throw Failure({"E610",
                 ExitCode::data,
                 "the file of agents has changed since the run read it",
                 {"  --> " + keys.path.string(),
                  "  CRC-32C " + then->second + " in the run, " + now + " now"},
                 "restore its content"});
}

/// Makes an empty folder. First removes `folder` with its files if it exists: a killed export may
/// have left it.
/// Errors: Failure E601 (exit 73).
void make_empty(const fs::path& folder) {
  std::error_code error;
  fs::remove_all(folder, error);
  if (!error) fs::create_directory(folder, error);
  if (!error) return;
  throw Failure({"E601",
                 ExitCode::cannot_create,
                 "cannot make the folder of the export: " + error.message(),
                 {"  --> " + folder.string()},
                 ""});
}

/// Writes the files of --export pt, each with a JSON file of metadata.
class PtFiles {
public:
  explicit PtFiles(const run::ExportRequest& request)
      : out_(request.out),
        keys_(read_collect_keys(request.config)),
        task_(task_of(request.config, keys_)),
        method_(method_of(keys_)),
        model_(rows::read_model_path(request.config).string()),
        time_(time_of(request.results.parent_path())) {}

  const CollectKeys& keys() const { return keys_; }

  /// Writes NAME.pt and NAME_metadata.json, where NAME ends in `suffix`. Returns the metadata, to
  /// which `more` is added.
  JsonValue::Members write(const std::string& suffix, const Questions& questions,
                           JsonValue::Members more) const {
    const std::string name = task_ + "_" + method_ + "_" + time_ + suffix;
    c10::impl::GenericDict batch = tensor::pickle_dict();
    batch.insert("batch_name", name);
    batch.insert("timestamp", time_);
    batch.insert("num_questions", questions.count());
    batch.insert("questions", questions.records);
    tensor::write_pickle(out_ / (name + ".pt"), batch);
    JsonValue::Members metadata = metadata_of(name, questions);
    std::ranges::move(more, std::back_inserter(metadata));
    write_file_durably(out_ / (name + "_metadata.json"), formats::to_json(metadata), "export");
    return metadata;
  }

private:
  JsonValue::Members metadata_of(const std::string& name, const Questions& questions) const {
    JsonValue accuracy;
    if (questions.count() > 0)
      accuracy = static_cast<double>(questions.right) / static_cast<double>(questions.count());
    return {{"batch_name", name},
            {"task", task_},
            {"method", method_},
            {"model", model_},
            {"timestamp", time_},
            {"num_paths", keys_.num_paths},
            {"num_questions", questions.count()},
            {"num_paths_total", questions.paths},
            {"num_left_out", questions.left_out},
            {"accuracy", accuracy}};
  }

  fs::path out_;
  CollectKeys keys_;
  std::string task_;
  std::string method_;
  std::string model_;
  std::string time_;
};

/// Writes a file for each part and, unless all parts are empty, a file with the questions of all
/// parts. Returns the questions of all parts.
Questions write_parts(const PtFiles& files, const PtReader& reader, std::int64_t parts) {
  Questions all;
  JsonValue::List metadata;
  for (std::int64_t part = 0; part < parts; ++part) {
    const RowRange range = range_of(reader.rows(), part, parts);
    const Questions questions = questions_of(reader, range);
    metadata.emplace_back(files.write(
        "_gpu_" + std::to_string(part), questions,
        {{"gpu_id", part}, {"data_start_idx", range.first}, {"data_end_idx", range.end}}));
    all.add(questions);
  }
  if (all.count() > 0)
    files.write("_merged", all, {{"num_gpus", parts}, {"gpu_metadata", std::move(metadata)}});
  return all;
}

}  // namespace

void add_pt_key(KeyTable& table) {
  table.add({.name = "collect.pt_parts",
             .type = KeyType::integer,
             .default_value = "auto",
             .summary = "files into which --export pt divides the questions, with one of all "
                        "questions; 1: only that one; auto: a file for each rank of the run",
             .min = 1,
             .max = 65536,
             .choices = {"auto"},
             .identity = false});
}

std::int64_t export_pt(const run::ExportRequest& request) {
  const PtFiles files(request);
  check_agents_file(files.keys().agents, request.results.parent_path());
  const PtReader reader(request.results, files.keys());
  make_empty(request.out);
  const std::int64_t parts = parts_of(request.config, request.results.parent_path());
  Questions all;
  if (parts == 1) {
    all = questions_of(reader, {0, reader.rows()});
    if (all.count() > 0) files.write("", all, {});
  } else {
    all = write_parts(files, reader, parts);
  }
  if (all.count() > 0) return all.count();
  throw Failure({"E143",
                 ExitCode::usage,
                 "the run has no solutions",
                 {"  --> " + request.results.string()},
                 "column `reason` of table samples says why"});
}

}  // namespace mgpu::jobs
