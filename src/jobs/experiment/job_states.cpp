#include "job_states.hpp"

#include <cstddef>
#include <utility>

#include <mgpu/config/common_keys.hpp>
#include <mgpu/formats/json_value.hpp>

namespace mgpu::jobs {
namespace {

using formats::JsonValue;

JsonValue json_of(const Stage& stage, const StageRecord& record) {
  return JsonValue::Members{
      {"name", stage.name},
      {"job", read_job_name(stage.config)},
      {"state", name_of(record.state)},
      {"ranks", JsonValue::List(record.members.begin(), record.members.end())},
      {"begin_s", record.begin_s},
      {"end_s", record.end_s},
      {"exit", static_cast<int>(record.end.exit)},
      {"directory", record.end.directory},
      {"result", record.end.result},
      {"error", record.end.error}};
}

JsonValue json_of(const Cell& cell, const Stage& evaluation, CellState state) {
  JsonValue::Members members;
  for (const auto& [name, value] : cell.values)
    members.emplace_back(name, value);
  members.emplace_back("stage", evaluation.name);
  members.emplace_back("state", name_of(state));
  return members;
}

}  // namespace

std::string job_states(const StageGraph& graph, const CellStates& cells,
                       const std::vector<StageRecord>& records) {
  JsonValue::List of_stages;
  std::vector<StageState> states;
  for (std::size_t s = 0; s < records.size(); ++s) {
    of_stages.push_back(json_of(graph.stages[s], records[s]));
    states.push_back(records[s].state);
  }
  JsonValue::List of_cells;
  for (std::size_t c = 0; c < graph.cells.size(); ++c)
    of_cells.push_back(
        json_of(graph.cells[c], graph.stages[graph.cells[c].evaluation], cells.of(c, states)));
  const JsonValue all = JsonValue::Members{
      {"schema", 1}, {"stages", std::move(of_stages)}, {"cells", std::move(of_cells)}};
  return formats::to_json(all, formats::BadUtf8::replace);
}

}  // namespace mgpu::jobs
