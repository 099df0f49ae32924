#include "histories.hpp"

#include <algorithm>
#include <filesystem>
#include <string>

#include <mgpu/ad/source.hpp>
#include <mgpu/run/chunk_phase.hpp>
#include <mgpu/store/results/read_table.hpp>

#include "tables.hpp"

namespace mgpu::recipes {
namespace {

constexpr const char* kTable = "histories";
constexpr std::uint32_t kHistoriesPhase = 1;  // phase id in the journal of the run

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& why) {
  throw Failure({"E521",
                 ExitCode::data,
                 "the histories do not fit this run: " + why,
                 {"  --> " + path.string()},
                 "data.path=null plays histories that fit"});
}

/// Copies the values of a column, one per step.
void copy(const store::ReadTable& table, const std::filesystem::path& path, const char* name,
          std::span<std::uint8_t> into) {
  const auto values = table.column(name).values<std::uint8_t>();
  if (values.size() != into.size())
    refuse(path, "column `" + std::string(name) + "` has " +
                     std::to_string(table.column(name).spec.width) + " values per row, `action` " +
                     std::to_string(table.column("action").spec.width));
  std::copy(values.begin(), values.end(), into.begin());
}

/// Checks that the histories in the table fit the environment, and returns them. The number of rows
/// determines the number of histories per task. The width of column `action` determines the number
/// of episodes per history.
ad::HistorySet to_histories(const store::ReadTable& table, const std::filesystem::path& path,
                            const ad::Environment& environment) {
  const auto tasks = static_cast<std::int64_t>(environment.train_tasks().size());
  const std::int64_t steps = table.column("action").spec.width;
  if (table.missing_rows > 0) refuse(path, "the file is of an unfinished run");
  if (table.rows == 0 || table.rows % tasks != 0) {
    refuse(path,
           std::to_string(table.rows) + " rows for " + std::to_string(tasks) + " training tasks");
  }
  if (steps % environment.horizon() != 0) {
    refuse(path, std::to_string(steps) + " steps are not whole episodes of " +
                     std::to_string(environment.horizon()));
  }
  ad::HistorySet histories(
      environment, {static_cast<int>(table.rows / tasks),
                    static_cast<int>(steps / environment.horizon()), environment.horizon()});
  const auto task = table.column("task").values<std::int32_t>();
  if (!std::equal(task.begin(), task.end(), histories.task().begin(), histories.task().end())) {
    refuse(path, "its tasks are not the training tasks (data.env_split_seed)");
  }
  copy(table, path, "action", histories.action());
  copy(table, path, "reward", histories.reward());
  copy(table, path, "landing", histories.landing());
  ad::check_histories(environment, histories);
  return histories;
}

/// Returns the shape of the histories that the run plays.
ad::HistoryShape shape_of(const AdSettings& settings, const ad::Environment& environment) {
  return {settings.data.streams, settings.data.episodes, environment.horizon()};
}

/// Plays the histories that the journal lacks, and adds them to the journal. Returns false if a
/// stop was requested before all histories were complete.
/// Ranks:  collective over the world.
bool play(run::RunContext& run, const AdSettings& settings, const ad::Environment& environment) {
  const ad::HistoryShape shape = shape_of(settings, environment);
  const auto source =
      ad::make_source(settings.data.source, environment,
                      {settings.data.source_epsilon, settings.loop.seed, /*round=*/0});
  const store::TableSpec spec = history_table(environment, shape);
  const run::ChunkPhase phase{kTable, kHistoriesPhase, spec.rows, settings.loop.chunk_size};
  return run::run_chunks(phase, run.topology.world(), run.journal,
                         {[&](const run::Chunk& chunk) {
                            ad::HistorySet histories(environment, shape,
                                                     static_cast<std::uint64_t>(chunk.first),
                                                     static_cast<std::size_t>(chunk.count));
                            ad::play_all(*source, histories);
                            return history_rows(environment, histories, spec);
                          },
                          [&] { return run.stop.poll() != StopReason::none; },
                          [&](std::int64_t samples) { run::log_chunk(run, kTable, samples); }});
}

}  // namespace

store::SealRequest histories_request(const run::SealPlace& place, const AdSettings& settings,
                                     const ad::Environment& environment) {
  store::SealRequest request;
  request.path = place.directory.path() / kHistoriesFile;
  request.what = kTable;
  request.attempt = place.directory.attempt();
  request.gzip = place.store.gzip;
  request.attributes = {{"env", environment.name()}};
  request.tables = {{history_table(environment, shape_of(settings, environment)), kHistoriesPhase,
                     settings.loop.chunk_size}};
  request.check_current = [&directory = place.directory] { directory.check_current(); };
  return request;
}

bool is_sealed(const cluster::Group& world, const std::filesystem::path& path) {
  const bool exists = world.all_reduce(std::int32_t{std::filesystem::exists(path) ? 1 : 0},
                                       cluster::ReduceOp::min) == 1;
  return exists && store::read_table(world, path, kTable).missing_rows == 0;
}

ad::HistorySet read_histories(const cluster::Group& world, const std::filesystem::path& path,
                              const ad::Environment& environment) {
  const store::ReadTable table = store::read_table(world, path, kTable);
  std::optional<ad::HistorySet> histories;
  cluster::run_together(world, [&] { histories.emplace(to_histories(table, path, environment)); });
  return std::move(*histories);
}

std::optional<ad::HistorySet> provide_histories(run::RunContext& run, const AdSettings& settings,
                                                const ad::Environment& environment) {
  const cluster::Group& world = run.topology.world();
  std::filesystem::path path = settings.data.path;
  if (path.empty()) {
    const store::SealRequest request =
        histories_request({run.config, run.store, run.directory}, settings, environment);
    path = request.path;
    if (!is_sealed(world, path)) {
      const auto playing = run.clock.enter("histories");
      if (!play(run, settings, environment)) return std::nullopt;
      store::seal(world, run.journal, request);
    }
  }
  const auto reading = run.clock.enter("waiting for data");
  return read_histories(world, path, environment);
}

}  // namespace mgpu::recipes
