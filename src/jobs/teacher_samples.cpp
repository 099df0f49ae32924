#include <array>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/jobs/teacher_samples.hpp>
#include <mgpu/store/json_lines.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::array kStatusNames = {"whole", "cut", "too long", "bad row"};

/// E531 for this row alone.
void refuse(const fs::path& file, const input::Row& row, const std::string& why) {
  store::LineProblems problems(file);
  problems.add(row.line, why);
  problems.throw_if_any();
}

}  // namespace

const char* name_of(SampleStatus status) {
  return kStatusNames.at(static_cast<std::size_t>(status));
}

SampleMaker::SampleMaker(RowEncoder encoder, const Options& options)
    : encoder_(std::move(encoder)), options_(options) {}

TeacherSample SampleMaker::make(const input::Row& row, const fs::path& file) {
  TeacherSample sample;
  sample.reason = row.problem;
  if (sample.reason.empty()) {
    try {
      sample.text = encoder_.encode(row.object);
      if (sample.text.ids.empty()) sample.reason = "its text has no tokens";
    } catch (const store::JsonError& error) {
      sample.reason = error.why();
    }
  }
  if (sample.reason.empty()) {
    fit(sample, row, file);
    return sample;
  }
  if (!options_.may_be_bad) refuse(file, row, sample.reason);
  sample.text = {};
  sample.status = SampleStatus::bad_row;
  return sample;
}

void SampleMaker::fit(TeacherSample& sample, const input::Row& row, const fs::path& file) const {
  sample.all_tokens = std::ssize(sample.text.ids);
  if (sample.all_tokens <= options_.max_length) return;
  sample.reason = std::to_string(sample.all_tokens) + " tokens, data.max_length is " +
                  std::to_string(options_.max_length);
  if (options_.too_long == TooLong::error) refuse(file, row, sample.reason);
  if (options_.too_long == TooLong::drop) {
    sample.status = SampleStatus::too_long;
    sample.text = {};
    return;
  }
  sample.status = SampleStatus::cut;
  sample.text.ids.resize(static_cast<std::size_t>(options_.max_length));
  sample.text.is_learned.resize(sample.text.ids.size());
}

}  // namespace mgpu::jobs
