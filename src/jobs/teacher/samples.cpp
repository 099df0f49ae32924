#include "samples.hpp"

#include <utility>

#include <mgpu/rows/row_problems.hpp>

namespace mgpu::jobs {
TeacherEncoder::TeacherEncoder(rows::RowEncoder encoder, Options options)
    : encoder_(std::move(encoder)), options_(std::move(options)) {}

TeacherSample TeacherEncoder::encode(const input::Row& row, const fs::path& file) {
  TeacherSample sample;
  sample.facts.kept = options_.kept.values_of(row);
  std::string& problem = sample.facts.reason;
  problem = row.problem;
  if (problem.empty()) {
    problem = rows::problem_of([&] {
      sample.text = encoder_.encode(row.object);
      if (sample.text.ids.empty()) throw formats::JsonError("its text has no tokens");
    });
  }
  if (problem.empty()) {
    fit(sample, row, file);
    return sample;
  }
  if (!options_.may_be_bad) rows::refuse_row(file, row, problem, input::kBadRowHelp);
  sample.text = {};
  sample.facts.status = rows::RowStatus::bad_row;
  return sample;
}

void TeacherEncoder::fit(TeacherSample& sample, const input::Row& row, const fs::path& file) const {
  sample.all_tokens = std::ssize(sample.text.ids);
  if (sample.all_tokens <= options_.max_length) return;
  sample.facts.reason = std::to_string(sample.all_tokens) + " tokens, " + options_.limit + " " +
                        std::to_string(options_.max_length);
  if (options_.too_long == rows::TooLong::error)
    rows::refuse_row(file, row, sample.facts.reason, options_.too_long_help);
  if (options_.too_long == rows::TooLong::drop) {
    sample.facts.status = rows::RowStatus::too_long;
    sample.text = {};
    return;
  }
  sample.facts.status = rows::RowStatus::truncated;
  sample.text.ids.resize(static_cast<std::size_t>(options_.max_length));
  sample.text.is_learned.resize(sample.text.ids.size());
}

}  // namespace mgpu::jobs
