#include "tables.hpp"

#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/store/results/columns.hpp>

namespace mgpu::recipes {
namespace {

/// One history of a set.
struct HistoryRow {
  const ad::Environment* environment = nullptr;
  const ad::HistorySet* histories = nullptr;
  std::size_t index = 0;

  ad::Point goal() const { return environment->point(histories->task()[index]); }
};

/// One episode of a rollout of the evaluation.
struct EpisodeRow {
  const ad::Environment* environment = nullptr;
  const EvaluationGrid* grid = nullptr;
  const ad::RolloutRecord* record = nullptr;
  std::int64_t id = 0;  // global id of the rollout
  int episode = 0;      // number of the episode, from 0

  int task() const { return grid->task(id); }
  ad::Point goal() const { return environment->point(task()); }
};

/// Returns the values of one history from the column `all` of all histories.
std::vector<std::uint8_t> steps_of(std::span<const std::uint8_t> all, const HistoryRow& row) {
  const std::size_t steps = all.size() / row.histories->size();
  const auto mine = all.subspan(row.index * steps, steps);
  return {mine.begin(), mine.end()};
}

store::Columns<HistoryRow> history_columns(std::int64_t steps) {
  using Row = HistoryRow;
  store::Columns<Row> columns;
  columns.add({"task", "task of the environment"},
              [](const Row& row) { return row.histories->task()[row.index]; });
  columns.add({"goal_x", "column of the rewarded cell", "cells"},
              [](const Row& row) { return std::int32_t{row.goal().x}; });
  columns.add({"goal_y", "row of the rewarded cell", "cells"},
              [](const Row& row) { return std::int32_t{row.goal().y}; });
  columns.add({"stream", "which history of its task"},
              [](const Row& row) { return row.histories->stream()[row.index]; });
  columns.add_wide({"action", "0 +x, 1 -x, 2 +y, 3 -y, 4 stay"}, steps,
                   [](const Row& row) { return steps_of(row.histories->action(), row); });
  columns.add_wide({"reward", "reward of each step"}, steps,
                   [](const Row& row) { return steps_of(row.histories->reward(), row); });
  columns.add_wide(
      {"landing", "cell that each step reached, 9 x + y; every episode starts at (4, 4)"}, steps,
      [](const Row& row) { return steps_of(row.histories->landing(), row); });
  return columns;
}

std::vector<std::string> names_of_controls() {
  std::vector<std::string> names;
  for (const Control control : kControls)
    names.emplace_back(name_of(control));
  return names;
}

store::Columns<EpisodeRow> episode_columns() {
  using Row = EpisodeRow;
  store::Columns<Row> columns;
  columns.add_code({"control",
                    "hide_rewards: the agent sees no reward; clear_context: its context is emptied "
                    "at each episode"},
                   names_of_controls(), [](const Row& row) { return row.grid->control(row.id); });
  columns.add({"goal_x", "column of the rewarded cell", "cells"},
              [](const Row& row) { return std::int32_t{row.goal().x}; });
  columns.add({"goal_y", "row of the rewarded cell", "cells"},
              [](const Row& row) { return std::int32_t{row.goal().y}; });
  columns.add({"run", "which run of its goal"},
              [](const Row& row) { return std::int32_t{row.grid->run(row.id)}; });
  columns.add({"episode", "episode of the run, from 1"},
              [](const Row& row) { return std::int32_t{row.episode + 1}; });
  columns.add({"return", "sum of rewards of the episode"}, [](const Row& row) {
    return std::int32_t{row.record->returns[static_cast<std::size_t>(row.episode)]};
  });
  columns.add({"optimal", "largest return of this goal"}, [](const Row& row) {
    return std::int32_t{row.environment->optimal_return(row.task())};
  });
  columns.add({"path", "cell that each step reached, 9 x + y"}, [](const Row& row) {
    const int horizon = row.environment->horizon();
    const auto begin = row.record->path.begin() + row.episode * horizon;
    return std::vector<std::uint8_t>(begin, begin + horizon);
  });
  return columns;
}

}  // namespace

store::TableSpec history_table(const ad::Environment& environment, const ad::HistoryShape& shape) {
  return history_columns(static_cast<std::int64_t>(shape.steps()))
      .table("histories", static_cast<std::int64_t>(ad::HistorySet::total(environment, shape)));
}

std::vector<std::byte> history_rows(const ad::Environment& environment,
                                    const ad::HistorySet& histories, const store::TableSpec& spec) {
  std::vector<HistoryRow> rows;
  for (std::size_t i = 0; i < histories.size(); ++i)
    rows.push_back({&environment, &histories, i});
  const std::int64_t steps = spec.columns[spec.column_index("action")].width;
  return history_columns(steps).encode(spec, static_cast<std::int64_t>(histories.first_id()), rows);
}

std::string_view name_of(Control control) {
  switch (control) {
    case Control::none:
      return "none";
    case Control::hide_rewards:
      return "hide_rewards";
    case Control::clear_context:
      return "clear_context";
  }
  throw Error("unknown control");
}

std::int64_t EvaluationGrid::size() const {
  return static_cast<std::int64_t>(controls.size() * tasks.size()) * runs;
}

Control EvaluationGrid::control(std::int64_t id) const {
  return controls[static_cast<std::size_t>(id / (static_cast<std::int64_t>(tasks.size()) * runs))];
}

int EvaluationGrid::task(std::int64_t id) const {
  return tasks[static_cast<std::size_t>(id / runs) % tasks.size()];
}

int EvaluationGrid::run(std::int64_t id) const {
  return static_cast<int>(id % runs);
}

store::TableSpec sample_table(const EvaluationGrid& grid) {
  store::TableSpec table = episode_columns().table("samples", grid.size() * grid.episodes);
  table.signal = "return";
  table.axis = "episode";
  return table;
}

std::vector<std::byte> sample_rows(const ad::Environment& environment, const EvaluationGrid& grid,
                                   const run::Chunk& chunk,
                                   std::span<const ad::RolloutRecord> records,
                                   const store::TableSpec& spec) {
  std::vector<EpisodeRow> rows;
  for (std::int64_t i = 0; i < chunk.count; ++i)
    for (int episode = 0; episode < grid.episodes; ++episode)
      rows.push_back(
          {&environment, &grid, &records[static_cast<std::size_t>(i)], chunk.first + i, episode});
  return episode_columns().encode(spec, chunk.first * grid.episodes, rows);
}

}  // namespace mgpu::recipes
