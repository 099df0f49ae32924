#pragma once

#include <utility>

#include <mgpu/report/job_page.hpp>

#include "plots.hpp"

namespace mgpu::jobs {

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
