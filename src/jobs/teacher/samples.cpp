#include "samples.hpp"

#include <array>
#include <utility>

#include <mgpu/rows/row_problems.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::array kStatusNames = {"whole", "cut", "too long", "bad row"};

}  // namespace

const char* name_of(SampleStatus status) {
  return kStatusNames.at(static_cast<std::size_t>(status));
}

SampleMaker::SampleMaker(rows::RowEncoder encoder, const Options& options)
    : encoder_(std::move(encoder)), options_(options) {}

TeacherSample SampleMaker::make(const input::Row& row, const fs::path& file) {
  TeacherSample sample;
  sample.reason = row.problem;
  if (sample.reason.empty()) {
    sample.reason = rows::problem_of([&] {
      sample.text = encoder_.encode(row.object);
      if (sample.text.ids.empty()) throw formats::JsonError("its text has no tokens");
    });
  }
  if (sample.reason.empty()) {
    fit(sample, row, file);
    return sample;
  }
  if (!options_.may_be_bad) rows::refuse_row(file, row, sample.reason, input::kBadRowHelp);
  sample.text = {};
  sample.status = SampleStatus::bad_row;
  return sample;
}

void SampleMaker::fit(TeacherSample& sample, const input::Row& row, const fs::path& file) const {
  sample.all_tokens = std::ssize(sample.text.ids);
  if (sample.all_tokens <= options_.max_length) return;
  sample.reason = std::to_string(sample.all_tokens) + " tokens, data.max_length is " +
                  std::to_string(options_.max_length);
  if (options_.too_long == rows::TooLong::error)
    rows::refuse_row(file, row, sample.reason, rows::kTooLongHelp);
  if (options_.too_long == rows::TooLong::drop) {
    sample.status = SampleStatus::too_long;
    sample.text = {};
    return;
  }
  sample.status = SampleStatus::cut;
  sample.text.ids.resize(static_cast<std::size_t>(options_.max_length));
  sample.text.is_learned.resize(sample.text.ids.size());
}

}  // namespace mgpu::jobs
