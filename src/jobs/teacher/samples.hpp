#pragma once

#include <cstdint>
#include <string>

#include <mgpu/input/row_file.hpp>
#include <mgpu/rows/kept_columns.hpp>
#include <mgpu/rows/row_encoder.hpp>
#include <mgpu/rows/row_facts.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

/// A sample as the model sees it.
struct TeacherSample {
  rows::LearnedText text;       // empty: it is left out
  std::int64_t all_tokens = 0;  // before it was cut or left out
  rows::RowFacts facts;
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
    rows::KeptColumns kept{};
  };

  SampleMaker(rows::RowEncoder encoder, Options options);
  TeacherSample make(const input::Row& row, const fs::path& file);

private:
  void fit(TeacherSample& sample, const input::Row& row, const fs::path& file) const;

  rows::RowEncoder encoder_;
  Options options_;
};

}  // namespace mgpu::jobs
