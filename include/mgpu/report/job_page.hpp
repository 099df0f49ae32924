#pragma once

#include <mgpu/report/html_report.hpp>
#include <mgpu/report/summary.hpp>

namespace mgpu::report {

/// What a job shows of a run, beside what every run shows.
class JobPage {
public:
  virtual ~JobPage() = default;

  /// Puts the job's numbers into summary.results and its short curves into summary.series.
  virtual void record(RunSummary& summary) const = 0;

  /// Headline, tiles, sections and tables, after record(); phases and provenance are the run's.
  virtual HtmlReport page(const RunSummary& summary) const = 0;
};

}  // namespace mgpu::report
