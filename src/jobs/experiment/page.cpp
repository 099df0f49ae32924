#include "page.hpp"

#include <algorithm>
#include <utility>

#include <mgpu/config/common_keys.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::jobs {

ExperimentPage::ExperimentPage(const std::vector<Stage>& stages,
                               const std::vector<StageRecord>& records,
                               std::vector<CellResult> cells)
    : cells_(std::move(cells)) {
  for (std::size_t s = 0; s < records.size(); ++s) {
    const StageRecord& record = records[s];
    rows_.push_back({.name = stages[s].name,
                     .job = read_job_name(stages[s].config),
                     .state = record.state,
                     .members = record.members,
                     .begin_s = record.begin_s,
                     .end_s = record.end_s,
                     .result = record.end.error.empty() ? record.end.result : record.end.error,
                     .directory = record.end.directory});
  }
}

void ExperimentPage::record(report::RunSummary& /*summary*/) const {}

report::HtmlPage ExperimentPage::page(const report::RunSummary& summary) const {
  report::HtmlPage page;
  page.headline = summary.result + ".";
  if (!cells_.empty()) page.sections.push_back(cell_section(cells_));
  const std::string chart = svg_stages(rows_);
  if (!chart.empty())
    page.sections.push_back(
        {"Stages over time",
         {{"Which ranks ran which stage", chart,
           "A stage has its color on the lines of its ranks. Point at a bar to read its name and "
           "times. An empty part of a line is a rank that waited."}}});
  report::Table table{"Stages", {"stage", "job", "state", "ranks", "seconds", "result"}, {}};
  table.is_text = true;
  table.is_stacked = true;
  for (const StageRow& row : rows_)
    table.rows.push_back(
        {row.name, row.job, name_of(row.state), report::rank_list(row.members),
         row.members.empty() ? "" : report::text_of("%.1f", row.end_s - row.begin_s), row.result});
  page.tables.push_back(std::move(table));
  report::Table folders{"Run directories of the stages", {"stage", "directory"}, {}};
  folders.is_text = true;
  folders.is_stacked = true;
  for (const StageRow& row : rows_)
    if (!row.directory.empty()) folders.rows.push_back({row.name, row.directory});
  page.tables.push_back(std::move(folders));
  return page;
}

}  // namespace mgpu::jobs
