#pragma once

#include <mgpu/report/html_page.hpp>
#include <mgpu/report/summary.hpp>

namespace mgpu::report {

/// The part of report.html and summary.json that depends on the job.
class JobPage {
public:
  virtual ~JobPage() = default;

  /// Adds the numbers of the job to summary.results, and short curves of the job to summary.series.
  virtual void record(RunSummary& summary) const = 0;

  /// Returns a page with the headline, tiles, sections and tables; the caller adds `phases` and
  /// `provenance`. Call it after record().
  virtual HtmlPage page(const RunSummary& summary) const = 0;
};

}  // namespace mgpu::report
