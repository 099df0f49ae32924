#include <cstdint>

#include <mgpu/config/common_keys.hpp>

namespace mgpu {

void add_common_keys(KeyTable& table, const std::vector<std::string>& jobs) {
  table.add({.name = "schema",
             .type = KeyType::integer,
             .default_value = "1",
             .summary = "version of the format of this file",
             .identity = false});
  table.add({.name = "job",
             .type = KeyType::choice,
             .default_value = jobs.front(),
             .summary = "what to do",
             .choices = jobs,
             .required = true});
  table.add({.name = "include",
             .type = KeyType::texts,
             .default_value = "[]",
             .summary = "files laid under this one, relative to its folder",
             .identity = false});
  table.add({.name = "run.seed",
             .type = KeyType::integer,
             .default_value = "0",
             .summary = "seed of every random number of the run",
             .min = 0});
  table.add({.name = "run.deterministic",
             .type = KeyType::choice,
             .default_value = "false",
             .summary = "layout: training gives the same bits at any rank count that divides "
                        "the number of lanes",
             .choices = {"false", "layout"},
             .foreign = {
                 {"full_determinism", "transformers", "here it is `run.deterministic: layout`"}}});
  table.add({.name = "run.chunk_size",
             .type = KeyType::integer,
             .default_value = "auto",
             .summary = "samples that are assigned, written and resumed as one piece; auto: up "
                        "to 32, and fewer where rows are few or have several completions",
             .unit = "samples",
             .min = 1,
             .max = 65536,
             .choices = {"auto"}});
  table.add({.name = "run.schedule",
             .type = KeyType::choice,
             .default_value = "auto",
             .summary =
                 "static: equal shares of all chunks beforehand; dynamic: who is free claims "
                 "the next one; auto: dynamic where a language model works",
             .choices = {"auto", "static", "dynamic"},
             .identity = false});
  table.add({.name = "run.worker_id",
             .type = KeyType::integer,
             .default_value = "0",
             .summary = "which of run.total_workers parts this run does; --only sets both",
             .min = 0,
             .max = 65535,
             .aliases = {"worker_id"},
             .identity = false});
  table.add({.name = "run.total_workers",
             .type = KeyType::integer,
             .default_value = "1",
             .summary = "number of parts, each done by a separate run; --merge joins them",
             .min = 1,
             .max = 65536,
             .aliases = {"total_workers"},
             .identity = false});
  table.add({.name = "run.retry_quarantined",
             .type = KeyType::flag,
             .default_value = "false",
             .summary = "with --resume: work again on rows that were left out because they killed "
                        "their rank twice, also of a finished run",
             .identity = false});
  table.add({.name = "run.time_limit",
             .type = KeyType::duration,
             .default_value = "none",
             .summary =
                 "stop softly in time before this much has passed; the limit of Slurm is read "
                 "by itself",
             .min = 1,
             .choices = {"none"},
             .identity = false});
  table.add({.name = "log.level",
             .type = KeyType::choice,
             .default_value = "info",
             .summary = "debug tells of chunks, shares and checkpoints of each rank, as -v does",
             .choices = {"debug", "info"},
             .identity = false});
  table.add(
      {.name = "log.tensorboard",
       .type = KeyType::flag,
       .default_value = "true",
       .summary = "write TensorBoard files",
       .identity = false,
       .foreign = {{"report_to", "transformers",
                    "TensorBoard files are always there, unless `log.tensorboard` is false"}}});
  table.add({.name = "log.memory_every",
             .type = KeyType::integer,
             .default_value = "500",
             .summary = "how often \"GPU Memory Summary:\" is printed; 0 = never",
             .unit = "steps",
             .min = 0,
             .identity = false});
  table.add({.name = "log.rank_files",
             .type = KeyType::flag,
             .default_value = "true",
             .summary = "write a log file per rank",
             .identity = false});
  table.add({.name = "report.html",
             .type = KeyType::flag,
             .default_value = "true",
             .summary = "write report.html at the end",
             .identity = false});
  table.add_foreign(
      {"logging_steps", "transformers", "the log's pace is fixed; TensorBoard has every step"});
  table.add_foreign(
      {"wandb_project", "axolotl", "there are files only: TensorBoard, events.jsonl"});
}

void add_data_path_key(KeyTable& table) {
  table.add({.name = "data.path",
             .type = KeyType::path,
             .default_value = "null",
             .summary =
                 "rows for a language model: JSON Lines, a list in JSON, CSV, TSV or Parquet; or "
                 "an HDF5 file with histories; null where the program makes them",
             .choices = {"null"}});
}

std::string read_job_name(const Config& config) {
  return config.text("job");
}

std::uint64_t read_seed(const Config& config) {
  return static_cast<std::uint64_t>(config.integer("run.seed"));
}

std::string read_data_path(const Config& config) {
  return config.is("data.path", "null") ? "" : config.text("data.path");
}

}  // namespace mgpu
