#pragma once

#include <string>
#include <vector>

#include <mgpu/report/job_page.hpp>

#include "coordinator.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// The facts about a stage that report.html shows.
struct StageRow {
  std::string name;
  std::string job;
  StageState state = StageState::waiting;
  std::vector<int> members{};
  double begin_s = 0.0;
  double end_s = 0.0;
  std::string result{};  // result line, or the sentence of the failure
  std::string directory{};
};

/// The page of an experiment: a chart of stages over time, and a table of their results.
class ExperimentPage final : public report::JobPage {
public:
  ExperimentPage(const std::vector<Stage>& stages, const std::vector<StageRecord>& records);

  void record(report::RunSummary& summary) const override;
  report::HtmlPage page(const report::RunSummary& summary) const override;

private:
  std::vector<StageRow> rows_;
};

/// Draws a bar for each stage that ran: time to the right, one line per rank.
std::string svg_stages(const std::vector<StageRow>& rows);

}  // namespace mgpu::jobs
