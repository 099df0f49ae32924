#pragma once

#include <mgpu/report/html_page.hpp>
#include <mgpu/report/summary.hpp>

namespace mgpu::report {

/// The part of a run's page that its job contributes.
class JobPage {
public:
  virtual ~JobPage() = default;

  /// Puts the job's numbers into summary.results and its short curves into summary.series.
  virtual void record(RunSummary& summary) const = 0;

  /// Returns headline, tiles, sections and tables; the run adds phases and provenance. Call it
  /// after record().
  virtual HtmlPage page(const RunSummary& summary) const = 0;
};

}  // namespace mgpu::report
