#include <cstdint>

#include <mgpu/base/common_keys.hpp>

namespace mgpu {

void add_common_keys(KeyTable& table, const std::vector<std::string>& jobs) {
  table.add_section_alias("training", "train");  // guide 000

  table.add({.name = "schema",
             .type = KeyType::integer,
             .standard = "1",
             .text = "version of the format of this file",
             .identity = false});
  table.add({.name = "job",
             .type = KeyType::choice,
             .standard = jobs.front(),
             .text = "what to do",
             .choices = jobs,
             .required = true});
  table.add({.name = "include",
             .type = KeyType::texts,
             .standard = "[]",
             .text = "files laid under this one, relative to its folder",
             .identity = false});
  table.add({.name = "run.seed",
             .type = KeyType::integer,
             .standard = "0",
             .text = "seed of every random number of the run",
             .min = 0});
  table.add({.name = "run.deterministic",
             .type = KeyType::choice,
             .standard = "false",
             .text = "layout: training gives the same bits at any rank count that divides "
                     "train.lanes",
             .choices = {"false", "layout"}});
  table.add({.name = "run.chunk_size",
             .type = KeyType::integer,
             .standard = "32",
             .text = "samples that are worked on, written and resumed as one piece",
             .unit = "samples",
             .min = 1,
             .max = 65536});
  table.add({.name = "run.time_limit",
             .type = KeyType::duration,
             .standard = "none",
             .text = "stop softly in time before this much has passed; the limit of Slurm is read "
                     "by itself",
             .min = 1,
             .choices = {"none"},
             .identity = false});
  table.add({.name = "log.level",
             .type = KeyType::choice,
             .standard = "info",
             .text = "debug tells of chunks, shares and checkpoints of each rank, as -v does",
             .choices = {"debug", "info"},
             .identity = false});
  table.add({.name = "log.tensorboard",
             .type = KeyType::flag,
             .standard = "true",
             .text = "write TensorBoard files",
             .identity = false});
  table.add({.name = "log.memory_every",
             .type = KeyType::integer,
             .standard = "500",
             .text = "how often \"GPU Memory Summary:\" is printed; 0 = never",
             .unit = "steps",
             .min = 0,
             .identity = false});
  table.add({.name = "log.rank_files",
             .type = KeyType::flag,
             .standard = "true",
             .text = "write a log file per rank",
             .identity = false});
  table.add({.name = "report.html",
             .type = KeyType::flag,
             .standard = "true",
             .text = "write report.html at the end",
             .identity = false});
}

}  // namespace mgpu
