#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/report/job_page.hpp>

#include "tree_reader.hpp"

namespace mgpu::jobs {

/// The data that report.html of job collect shows.
struct CollectPlots {
  /// A question whose tree is drawn.
  struct Shown {
    std::string name{};  // why it is shown: "easiest and most divided"
    std::int64_t question = 0;
    ReadTree tree{};
  };

  std::int64_t questions = 0;  // questions that have solutions
  std::int64_t paths = 0;
  std::int64_t right = 0;
  std::int64_t steps = 0;
  std::vector<std::int64_t> percents{};   // value of each step, in percent; empty if no texts are
                                          // stored
  std::vector<double> sums_at{};          // [s]: sum of the values of step s + 1 of all solutions
  std::vector<std::int64_t> counts_at{};  // [s]: number of solutions with a step s + 1
  std::vector<Shown> shown{};
  std::string settings{};  // result of collecting_text()

  /// Adds the steps of a question to the charts.
  void add(const ReadTree& tree);
};

/// Draws the first 16 solutions of a question, one below the other, and the first 16 steps of each
/// of them. Each step is a rectangle whose color is stronger for a higher value. The step's text
/// and value appear on hover.
std::string svg_step_tree(const CollectPlots::Shown& shown);

/// Makes the contents of report.html of job collect, and adds value_by_step to summary.json.
class CollectPage : public report::JobPage {
public:
  explicit CollectPage(CollectPlots plots) : plots_(std::move(plots)) {}

  void record(report::RunSummary& summary) const override;
  report::HtmlPage page(const report::RunSummary& summary) const override;

private:
  CollectPlots plots_;
};

}  // namespace mgpu::jobs
