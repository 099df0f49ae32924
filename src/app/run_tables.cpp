#include "run_tables.hpp"

#include <array>
#include <map>
#include <string_view>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/results/small_table.hpp>
#include <mgpu/store/run_dir/attempt_record.hpp>

namespace mgpu::app {
namespace {

using formats::JsonValue;
using Integers = std::vector<std::int64_t>;
using Numbers = std::vector<double>;
using Texts = std::vector<std::string>;

/// Returns the seconds in which the rank waited for data or for other ranks.
double waited_s(const report::RankPhases& rank) {
  static constexpr std::array kWaiting = {"waiting for data", "waiting for ranks",
                                          "allreduce, exposed"};
  double sum_s = 0.0;
  for (const char* phase : kWaiting) {
    const auto found = rank.seconds.find(phase);
    if (found != rank.seconds.end()) sum_s += found->second;
  }
  return sum_s;
}

store::SmallTable rank_table(const RunTables& tables) {
  Integers rank;
  Integers samples;
  Integers host_peak_bytes;
  Integers gpu_peak_bytes;
  Texts host;
  Texts gpu_uuid;
  Texts gpu_name;
  Numbers busy_s;
  Numbers wait_s;
  for (std::size_t r = 0; r < tables.ranks.size(); ++r) {
    const RankRecord& record = tables.ranks[r];
    const double waited = waited_s(tables.phases.ranks[r]);
    rank.push_back(static_cast<std::int64_t>(r));
    host.push_back(record.host);
    gpu_uuid.push_back(record.gpu_uuid);
    gpu_name.push_back(record.gpu_name);
    samples.push_back(record.samples);
    busy_s.push_back(tables.phases.ranks[r].wall_s - waited);
    wait_s.push_back(waited);
    host_peak_bytes.push_back(static_cast<std::int64_t>(tables.memory[r].host_bytes));
    gpu_peak_bytes.push_back(static_cast<std::int64_t>(tables.memory[r].device.reserved));
  }
  return store::make_small_table(
      "ranks", {{"rank", rank, "of the world"},
                {"host", host, "where it ran"},
                {"gpu_uuid", gpu_uuid, "empty on the CPU"},
                {"gpu_name", gpu_name, "empty on the CPU"},
                {"samples", samples, "that it trained on", "samples"},
                {"busy_s", busy_s, "time in which it did not wait", "s"},
                {"wait_s", wait_s, "time waiting for data or for other ranks", "s"},
                {"host_peak_bytes", host_peak_bytes, "largest memory of its process", "bytes"},
                {"gpu_peak_bytes", gpu_peak_bytes, "largest that it reserved", "bytes"}});
}

store::SmallTable timing_table(const report::PhaseTable& phases) {
  Texts phase;
  Integers rank;
  Numbers seconds;
  Integers calls;
  for (std::size_t r = 0; r < phases.ranks.size(); ++r) {
    for (const std::string& name : phases.phases) {
      const auto found = phases.ranks[r].seconds.find(name);
      if (found == phases.ranks[r].seconds.end()) continue;
      phase.push_back(name);
      rank.push_back(static_cast<std::int64_t>(r));
      seconds.push_back(found->second);
      calls.push_back(phases.ranks[r].calls.at(name));
    }
  }
  return store::make_small_table(
      "timing", {{"phase", phase, "what the rank was doing"},
                 {"rank", rank, "of the world"},
                 {"seconds", seconds, "a rank's rows add up to its wall time", "s"},
                 {"calls", calls, "how often it began this"}});
}

store::SmallTable throughput_table(const report::StepPace& pace, std::int64_t samples_per_step) {
  Integers step;
  Numbers rate;
  Numbers time_s;
  const auto& marks = pace.marks();
  for (std::size_t i = 1; i < marks.size(); ++i) {
    const double elapsed_s = marks[i].time_s - marks[i - 1].time_s;
    const auto samples =
        static_cast<double>((marks[i].steps - marks[i - 1].steps) * samples_per_step);
    step.push_back(marks[i].steps);
    rate.push_back(elapsed_s > 0.0 ? samples / elapsed_s : 0.0);
    time_s.push_back(marks[i].time_s);
  }
  return store::make_small_table(
      "throughput",
      {{"step", step, "optimizer steps done", "steps"},
       {"samples_per_second", rate,
        "of all ranks, since the row before, evaluations and checkpoints included", "samples/s"},
       {"time_s", time_s, "since the program began", "s"}},
      {.signal = "samples_per_second", .axis = "step"});
}

store::SmallTable attempt_table(const store::RunDirectory& directory, int exit_now) {
  Integers attempt;
  Integers ranks;
  Integers exit;
  Texts host;
  Texts begun;
  Texts ended;
  for (const store::AttemptRecord& record : store::attempts_of(directory.path())) {
    const bool is_this = record.attempt == directory.attempt();
    attempt.push_back(record.attempt);
    host.push_back(record.host);
    ranks.push_back(record.ranks);
    begun.push_back(record.begun);
    ended.push_back(record.ended);
    exit.push_back(is_this ? exit_now : record.exit ? static_cast<int>(*record.exit) : -1);
  }
  return store::make_small_table(
      "attempts", {{"attempt", attempt, "from 1; the last one wrote this file"},
                   {"host", host, "of rank 0"},
                   {"ranks", ranks, "of the world"},
                   {"begun", begun, "UTC"},
                   {"ended", ended, "UTC; empty where it was killed, and for the last one"},
                   {"exit", exit, "exit code; -1 where it was killed"}});
}

store::SmallTable chunk_table(const std::vector<store::ChunkWork>& chunks) {
  Integers phase;
  Integers chunk;
  Integers attempt;
  Integers rank;
  for (const store::ChunkWork& work : chunks) {
    phase.push_back(work.phase);
    chunk.push_back(static_cast<std::int64_t>(work.chunk));
    attempt.push_back(work.attempt);
    rank.push_back(work.rank);
  }
  return store::make_small_table(
      "chunks",
      {{"phase", phase, "number of the loop over chunks; other inputs have another number"},
       {"chunk", chunk, "its first input row is chunk * run.chunk_size"},
       {"attempt", attempt, "that finished the chunk"},
       {"rank", rank, "of the world of that attempt, which recorded the chunk"}});
}

}  // namespace

std::vector<RankRecord> gather_rank_records(const cluster::Group& world, const RankRecord& mine) {
  const JsonValue::Members record{{"host", mine.host},
                                  {"gpu_uuid", mine.gpu_uuid},
                                  {"gpu_name", mine.gpu_name},
                                  {"samples", mine.samples}};
  std::vector<RankRecord> records;
  for (const std::string& text : world.gather(formats::to_json_line(record), 0)) {
    const JsonValue theirs = formats::parse_json_object(text);
    records.push_back({theirs.get<std::string>("host"), theirs.get<std::string>("gpu_uuid"),
                       theirs.get<std::string>("gpu_name"), theirs.get<std::int64_t>("samples")});
  }
  return records;
}

void write_run_tables(const cluster::Group& world, const store::RunDirectory& directory,
                      const RunTables& tables) {
  store::SealRequest request;
  request.path = directory.path() / "run.h5";
  request.what = "timings";
  request.attempt = directory.attempt();
  request.check_current = [&] { directory.check_current(); };
  cluster::run_together(world, [&] {
    if (world.rank() != 0) return;
    request.attributes = tables.attributes;
    request.small_tables = {rank_table(tables), timing_table(tables.phases),
                            throughput_table(tables.pace, tables.samples_per_step),
                            attempt_table(directory, tables.exit), chunk_table(tables.chunks)};
  });
  store::seal(world, request);
}

}  // namespace mgpu::app
