#include "results.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <mgpu/config/common_keys.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/seal_place.hpp>
#include <mgpu/store/results/small_table.hpp>

#include "page.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::size_t kStateWidth = 8;  // length of "left out", the longest state
constexpr std::size_t kSecondsWidth = 10;

/// Returns the state that results.h5 stores. A reused stage is stored as done, so that a resumed
/// experiment writes the same bytes as one that was not interrupted.
StageState stored_state(StageState state) {
  return state == StageState::reused ? StageState::done : state;
}

store::SmallTable stage_table(const std::vector<Stage>& stages,
                              const std::vector<StageRecord>& records) {
  std::vector<std::string> names;
  std::vector<std::string> jobs;
  std::vector<std::string> states;
  std::vector<std::string> after;
  for (std::size_t s = 0; s < records.size(); ++s) {
    names.push_back(stages[s].name);
    jobs.push_back(read_job_name(stages[s].config));
    states.emplace_back(name_of(stored_state(records[s].state)));
    std::string list;
    for (const std::size_t before : stages[s].after)
      list += (list.empty() ? "" : " ") + stages[before].name;
    after.push_back(std::move(list));
  }
  return store::make_small_table("stages", {{"name", names, "name of the stage"},
                                            {"job", jobs, "job of the stage"},
                                            {"state", states, "done, failed, left out or waiting"},
                                            {"after", after, "stages that it waited for"}});
}

std::int64_t count(const std::vector<StageRecord>& records, StageState state) {
  return std::ranges::count(records, state, &StageRecord::state);
}

/// Returns a table of all stages as lines of text, for the screen.
std::string stage_lines(const std::vector<Stage>& stages, const std::vector<StageRecord>& records) {
  std::size_t width = 0;
  for (const Stage& stage : stages)
    width = std::max(width, stage.name.size());
  std::string lines;
  for (std::size_t s = 0; s < records.size(); ++s) {
    const StageRecord& record = records[s];
    const std::string seconds =
        record.members.empty() ? "" : report::text_of("%.1f s", record.end_s - record.begin_s);
    lines += "stage " + report::pad_right(stages[s].name, width) + "  " +
             report::pad_right(name_of(record.state), kStateWidth) +
             report::pad_left(seconds, kSecondsWidth) + "  " +
             (record.end.error.empty() ? record.end.result : record.end.error) + "\n";
  }
  return lines;
}

/// Returns the result line of the experiment, such as "5 of 6 stages are done, 2 of them by earlier
/// runs; 1 failed, and 0 need their output".
std::string result_text(const std::vector<StageRecord>& records) {
  const std::int64_t reused = count(records, StageState::reused);
  const std::int64_t failed = count(records, StageState::failed);
  std::string text = std::to_string(count(records, StageState::done) + reused) + " of " +
                     std::to_string(records.size()) + " stages are done";
  if (reused > 0) text += ", " + std::to_string(reused) + " of them by earlier runs";
  if (failed > 0)
    text += "; " + std::to_string(failed) + " failed, and " +
            std::to_string(count(records, StageState::left_out)) + " need their output";
  return text;
}

}  // namespace

void seal_stages(run::RunContext& run, const std::vector<Stage>& stages,
                 const std::vector<StageRecord>& records, const std::vector<CellResult>& cells) {
  const auto sealing = run.clock.enter("seal");
  store::SealRequest request =
      run::seal_request({run.config, run.store, run.directory}, "experiment");
  if (!records.empty()) request.small_tables.push_back(stage_table(stages, records));
  if (!cells.empty()) request.small_tables.push_back(cell_table(cells));
  store::seal(run.topology.world(), request);
}

run::JobOutcome outcome_of(run::RunContext& run, const std::vector<Stage>& stages,
                           const std::vector<StageRecord>& records,
                           const std::vector<CellResult>& cells) {
  run::JobOutcome outcome;
  outcome.unit = "stages";
  outcome.total = std::ssize(stages);
  const std::int64_t done = count(records, StageState::done) + count(records, StageState::reused);
  outcome.done = run.topology.world().all_reduce(done);  // only rank 0 has records
  if (records.empty()) return outcome;
  run.print(stage_lines(stages, records));
  if (!cells.empty()) run.print(cell_lines(cells));
  outcome.result = result_text(records);
  for (std::size_t s = 0; s < records.size(); ++s) {
    for (report::Result result : records[s].end.results) {
      result.key = stages[s].name + "." + result.key;
      result.label = stages[s].name + ": " + result.label;
      outcome.results.push_back(std::move(result));
    }
  }
  outcome.page = std::make_unique<ExperimentPage>(stages, records, cells);
  return outcome;
}

}  // namespace mgpu::jobs
