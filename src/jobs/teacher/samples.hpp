#pragma once

#include <cstdint>
#include <string>

#include <mgpu/input/row_file.hpp>
#include <mgpu/rows/kept_columns.hpp>
#include <mgpu/rows/row_encoder.hpp>
#include <mgpu/rows/row_facts.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

/// A sample, encoded for the model.
struct TeacherSample {
  rows::LearnedText text;       // empty: the sample is left out
  std::int64_t all_tokens = 0;  // length before the sample was cut or left out
  rows::RowFacts facts;
};

/// Makes samples from rows, up to the length that the model and data.max_length allow.
///
/// Errors: Failure E531 (exit 65) for a row that cannot be used with data.on_bad_row=stop, or that
///         is too long with data.too_long=error; those of RowEncoder.
class SampleMaker {
public:
  struct Options {
    std::int64_t max_length = 0;
    rows::TooLong too_long = rows::TooLong::truncate;
    bool may_be_bad = false;  // mark rows that cannot be used, instead of throwing
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
