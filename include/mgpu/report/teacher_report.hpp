#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/report/job_page.hpp>

namespace mgpu::report {

/// What job teacher shows: lengths with what was cut, speed, size.
struct TeacherPictures {
  std::map<std::string, std::int64_t> statuses;  // "cut" -> samples
  std::int64_t tokens = 0;                       // that the teacher saw
  std::int64_t tokens_left_out = 0;              // of samples that were too long
  std::int64_t longest = 0;                      // tokens of a sample
  std::vector<std::int64_t> lengths;             // tokens of each sample that has some
  double bytes_per_token = 0.0;                  // of targets
  std::vector<double> tokens_per_second;         // of each group of ranks; 0: it did nothing
  double total_tokens_per_second = 0.0;          // of all in this attempt

  /// Of a rectangle as long as the longest sample: the share that no sample fills.
  double padding_share() const;
};

/// The page of job teacher.
class TeacherPage : public JobPage {
public:
  explicit TeacherPage(TeacherPictures pictures) : pictures_(std::move(pictures)) {}

  void record(RunSummary& summary) const override;
  HtmlReport page(const RunSummary& summary) const override;

private:
  TeacherPictures pictures_;
};

}  // namespace mgpu::report
