#include <algorithm>

#include <mgpu/config/common_keys.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/chunk_keys.hpp>

namespace mgpu::run {
namespace {

ChunkPart read_chunk_part(const Config& config) {
  return {static_cast<int>(config.integer("run.worker_id")),
          static_cast<int>(config.integer("run.total_workers"))};
}

}  // namespace

std::int64_t auto_chunk_size(std::int64_t rows, std::int64_t results_per_row) {
  // A small data set is divided into about this many chunks or fewer, so that many ranks have work.
  constexpr std::int64_t kChunks = 64;
  const std::int64_t by_rows = (rows + kChunks - 1) / kChunks;
  const std::int64_t by_results = (kLargestAutoChunk + results_per_row - 1) / results_per_row;
  return std::max<std::int64_t>(1, std::min({kLargestAutoChunk, by_rows, by_results}));
}

bool has_auto_chunk_size(const Config& config) {
  return config.is("run.chunk_size", "auto");
}

JobKeys read_job_keys(const Config& config) {
  const bool is_auto = has_auto_chunk_size(config);
  return {.seed = read_seed(config),
          .chunk_size = is_auto ? kLargestAutoChunk : config.integer("run.chunk_size"),
          .is_dynamic = !config.is("run.schedule", "static"),
          .part = read_chunk_part(config)};
}

void check_chunk_keys(const Config& config) {
  const std::int64_t part = config.integer("run.worker_id");
  const std::int64_t parts = config.integer("run.total_workers");
  if (part < parts) return;
  throw config.problem(
      "E124", "run.worker_id",
      "there is no part " + std::to_string(part) + " of " + std::to_string(parts) +
          ": parts count from 0",
      "--only " + std::to_string(parts - 1) + "/" + std::to_string(parts) + " is the last one");
}

void refuse_chunk_keys(const Config& config) {
  const std::string job = "job " + read_job_name(config);
  if (config.is("run.schedule", "dynamic")) {
    throw config.problem("E124", "run.schedule", job + " shares its chunks out beforehand",
                         "run.schedule=static");
  }
  if (config.integer("run.total_workers") == 1) return;
  throw config.problem("E124", "run.total_workers", job + " has no parts that runs could share",
                       "remove it");
}

std::string part_text(const ChunkPart& part) {
  return "part " + std::to_string(part.index) + " of " + std::to_string(part.count);
}

std::string part_note(const JobKeys& keys) {
  return keys.is_part_of_run() ? "; " + part_text(keys.part) : "";
}

void log_part(const RunContext& run, const JobKeys& keys) {
  if (!keys.is_part_of_run()) return;
  run.log.event({"note",
                 {{"text", run.store.result_file + " holds " + part_text(keys.part) +
                               "; ./mgpu_spmd --merge with the folders of all parts joins them"}}});
}

ChunkProgress progress_of(const JobKeys& keys, const ChunkPhase& phase, const Chunk& last,
                          const AttemptSamples& samples) {
  if (keys.is_dynamic) return {samples_up_to(phase, last), samples_of_part(phase)};
  return {samples.done, samples.total};
}

ChunkProgress progress_before(const JobKeys& keys, const ChunkPhase& phase, const Chunk& next,
                              const AttemptSamples& samples) {
  ChunkProgress progress = progress_of(keys, phase, next, samples);
  if (keys.is_dynamic) progress.done -= next.count;
  return progress;
}

std::optional<report::Note> idle_note(const ChunkPhase& phase, std::int64_t pending, int groups,
                                      int ranks, const std::string& rows) {
  if (pending >= groups) return std::nullopt;
  report::Note note;
  note.text =
      report::text_of("%lld of %d %s have nothing to do: there %s %s chunk%s of up to %s %s",
                      static_cast<long long>(groups - pending), groups,
                      groups == ranks ? "ranks" : "groups of ranks", pending == 1 ? "is" : "are",
                      report::grouped(pending).c_str(), pending == 1 ? "" : "s",
                      report::grouped(phase.chunk_rows).c_str(), rows.c_str());
  // With `smaller` rows in a chunk, every part (ChunkPart) has at least one chunk for each group.
  const std::int64_t smaller = phase.samples / (std::int64_t{groups} * phase.part.count);
  if (smaller >= 1 && smaller < phase.chunk_rows) {
    note.key = "run.chunk_size";
    note.effect = "In a new run, run.chunk_size=" + std::to_string(smaller) + " gives work to all";
  } else {
    note.effect = "-np " + std::to_string(std::max<std::int64_t>(1, pending) * ranks / groups) +
                  " takes as long";
  }
  return note;
}

ChunkSharing chunk_sharing(const RunContext& run, const JobKeys& keys) {
  return {.is_dynamic = keys.is_dynamic, .timeout_s = run.cluster.timeout_s};
}

}  // namespace mgpu::run
