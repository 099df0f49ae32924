#pragma once

#include <string>
#include <vector>

#include <mgpu/report/job_page.hpp>

#include "cell_results.hpp"
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
  std::string result{};  // StageEnd::error, or StageEnd::result if there is no error
  std::string directory{};
};

/// Makes report.html of an experiment. The page shows the rewards of the cells (evaluations of
/// algorithms), a chart of stages over time, and tables with the results and run directories of the
/// stages.
class ExperimentPage final : public report::JobPage {
public:
  ExperimentPage(const std::vector<Stage>& stages, const std::vector<StageRecord>& records,
                 std::vector<CellResult> cells);

  void record(report::RunSummary& summary) const override;
  report::HtmlPage page(const report::RunSummary& summary) const override;

private:
  std::vector<StageRow> rows_;
  std::vector<CellResult> cells_;
};

/// Draws a chart with time to the right and one line for each rank. Each stage that ran has a bar
/// on the lines of its ranks. Returns an SVG text; "" if no stage ran.
std::string svg_stages(const std::vector<StageRow>& rows);

/// Draws the rewards of the cells as a table. It has a row for each combination of algorithm, round
/// and eta, and a column for each data set and model. Returns an SVG text; "" if no cell has a
/// reward.
std::string svg_rewards(const std::vector<CellResult>& cells);

/// Draws CellResult::reward over CellResult::kl, with a curve for each algorithm and round. If
/// CellResult::best of the cell with the largest KL is known, also draws the curve of
/// best_reward(). `cells` are the cells of one data set and model. Returns an SVG text; "" if no
/// cell has both a reward and a KL.
std::string svg_reward_by_kl(const std::vector<CellResult>& cells);

/// Returns the data set and the model of a cell: "star_graph, tiny".
std::string column_of(const CellResult& cell);

/// Returns the algorithm, round and eta of a cell: "qsharp, round 0, eta 0.5".
std::string row_of(const CellResult& cell);

/// Returns the section of report.html about the cells. `cells` must not be empty.
report::Section cell_section(const std::vector<CellResult>& cells);

}  // namespace mgpu::jobs
