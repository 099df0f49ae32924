#include "tables.hpp"

#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/store/journal/chunk_payload.hpp>

namespace mgpu::recipes {
namespace {

using store::ColumnType;

/// Columns of one chunk of evaluation runs; every row is an episode.
struct SampleColumns {
  std::vector<std::uint8_t> control;
  std::vector<std::int32_t> goal_x;
  std::vector<std::int32_t> goal_y;
  std::vector<std::int32_t> run;
  std::vector<std::int32_t> episode;
  std::vector<std::int32_t> result;
  std::vector<std::int32_t> optimal;
  std::vector<std::vector<std::uint8_t>> path;
};

}  // namespace

store::TableSpec history_table(const ad::Environment& environment, const ad::HistoryShape& shape) {
  const auto steps = static_cast<std::int64_t>(shape.steps());
  return {.path = "histories",
          .rows = static_cast<std::int64_t>(ad::HistorySet::total(environment, shape)),
          .columns = {{"task", ColumnType::i32, 1, "task of the environment", ""},
                      {"goal_x", ColumnType::i32, 1, "column of the rewarded cell", "cells"},
                      {"goal_y", ColumnType::i32, 1, "row of the rewarded cell", "cells"},
                      {"stream", ColumnType::i32, 1, "which history of its task", ""},
                      {"action", ColumnType::u8, steps, "0 +x, 1 -x, 2 +y, 3 -y, 4 stay", ""},
                      {"reward", ColumnType::u8, steps, "reward of each step", ""},
                      {"landing", ColumnType::u8, steps,
                       "cell that each step reached, 9 x + y; every episode starts at (4, 4)", ""}},
          .signal = "",
          .axis = ""};
}

std::vector<std::byte> history_rows(const ad::Environment& environment,
                                    const ad::HistorySet& histories, const store::TableSpec& spec) {
  std::vector<std::int32_t> goal_x;
  std::vector<std::int32_t> goal_y;
  for (const std::int32_t task : histories.task()) {
    const ad::Point goal = environment.point(task);
    goal_x.push_back(goal.x);
    goal_y.push_back(goal.y);
  }
  store::ChunkEncoder rows(spec, static_cast<std::int64_t>(histories.first_id()),
                           static_cast<std::int64_t>(histories.size()));
  rows.column("task", histories.task());
  rows.column("goal_x", std::span<const std::int32_t>(goal_x));
  rows.column("goal_y", std::span<const std::int32_t>(goal_y));
  rows.column("stream", histories.stream());
  rows.column("action", histories.action());
  rows.column("reward", histories.reward());
  rows.column("landing", histories.landing());
  return rows.finish();
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
  return {.path = "samples",
          .rows = grid.size() * grid.episodes,
          .columns = {{"control", ColumnType::u8, 1,
                       "0 none, 1 hide_rewards (the agent sees no reward), 2 clear_context (its "
                       "context is emptied at each episode)",
                       ""},
                      {"goal_x", ColumnType::i32, 1, "column of the rewarded cell", "cells"},
                      {"goal_y", ColumnType::i32, 1, "row of the rewarded cell", "cells"},
                      {"run", ColumnType::i32, 1, "which run of its goal", ""},
                      {"episode", ColumnType::i32, 1, "episode of the run, from 1", ""},
                      {"return", ColumnType::i32, 1, "sum of rewards of the episode", ""},
                      {"optimal", ColumnType::i32, 1, "largest return of this goal", ""},
                      {"path", ColumnType::u8, 1, "cell that each step reached, 9 x + y", "",
                       /*ragged=*/true}},
          .signal = "return",
          .axis = "episode"};
}

std::vector<std::byte> sample_rows(const ad::Environment& environment, const EvaluationGrid& grid,
                                   const run::Chunk& chunk,
                                   std::span<const ad::RolloutRecord> records,
                                   const store::TableSpec& spec) {
  SampleColumns columns;
  for (std::int64_t i = 0; i < chunk.count; ++i) {
    const std::int64_t id = chunk.first + i;
    const ad::RolloutRecord& record = records[static_cast<std::size_t>(i)];
    const ad::Point goal = environment.point(grid.task(id));
    for (int episode = 0; episode < grid.episodes; ++episode) {
      columns.control.push_back(static_cast<std::uint8_t>(grid.control(id)));
      columns.goal_x.push_back(goal.x);
      columns.goal_y.push_back(goal.y);
      columns.run.push_back(grid.run(id));
      columns.episode.push_back(episode + 1);
      columns.result.push_back(record.returns[static_cast<std::size_t>(episode)]);
      columns.optimal.push_back(environment.optimal_return(grid.task(id)));
      const auto begin = record.path.begin() + episode * environment.horizon();
      columns.path.emplace_back(begin, begin + environment.horizon());
    }
  }
  store::ChunkEncoder rows(spec, chunk.first * grid.episodes, chunk.count * grid.episodes);
  rows.column("control", std::span<const std::uint8_t>(columns.control));
  rows.column("goal_x", std::span<const std::int32_t>(columns.goal_x));
  rows.column("goal_y", std::span<const std::int32_t>(columns.goal_y));
  rows.column("run", std::span<const std::int32_t>(columns.run));
  rows.column("episode", std::span<const std::int32_t>(columns.episode));
  rows.column("return", std::span<const std::int32_t>(columns.result));
  rows.column("optimal", std::span<const std::int32_t>(columns.optimal));
  rows.lists("path", std::span<const std::vector<std::uint8_t>>(columns.path));
  return rows.finish();
}

}  // namespace mgpu::recipes
