#pragma once

#include <cstdint>
#include <string>

#include <mgpu/input/row_file.hpp>
#include <mgpu/rows/row_encoder.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

/// What became of a sample, as column `status` has it. The last two have no tokens.
enum class SampleStatus : std::uint8_t { whole, cut, too_long, bad_row };
const char* name_of(SampleStatus status);

/// A sample as the model sees it.
struct TeacherSample {
  rows::LearnedText text;  // empty: it is left out
  SampleStatus status = SampleStatus::whole;
  std::int64_t all_tokens = 0;  // before it was cut or left out
  std::string reason;           // why it is not whole; "" where it is
};

/// Makes samples of rows, as long as the model and data.max_length allow.
///
/// Errors: Failure E531 (exit 65) for a row that cannot be used where data.on_bad_row is stop, or
///         that is too long where data.too_long is error; those of RowEncoder.
class SampleMaker {
public:
  struct Options {
    std::int64_t max_length = 0;
    rows::TooLong too_long = rows::TooLong::truncate;
    bool may_be_bad = false;  // a row that cannot be used is marked
  };

  SampleMaker(rows::RowEncoder encoder, const Options& options);
  TeacherSample make(const input::Row& row, const fs::path& file);

private:
  void fit(TeacherSample& sample, const input::Row& row, const fs::path& file) const;

  rows::RowEncoder encoder_;
  Options options_;
};

}  // namespace mgpu::jobs
