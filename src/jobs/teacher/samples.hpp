#pragma once

#include <cstdint>
#include <string>

#include <mgpu/input/row_file.hpp>
#include <mgpu/rows/kept_columns.hpp>
#include <mgpu/rows/row_encoder.hpp>
#include <mgpu/rows/row_facts.hpp>
#include <mgpu/rows/row_problems.hpp>

#include "keys.hpp"

namespace mgpu::jobs {

/// Holds the tokens that the model reads for a row of the data, and the status of the row.
struct TeacherSample {
  rows::LearnedText text;       // empty: the sample is left out
  std::int64_t all_tokens = 0;  // tokens before data.too_long was applied; 0 for a bad row
  rows::RowFacts facts;
};

/// Turns rows into samples. Cuts or leaves out samples with more than Options::max_length tokens,
/// as data.too_long requires.
///
/// Errors: Failure E531 (exit 65) with data.on_bad_row=stop for a row that cannot be used, and with
///         data.too_long=error for a row that is too long; those of RowEncoder.
class TeacherEncoder {
public:
  struct Options {
    std::int64_t max_length = 0;
    std::string limit = "data.max_length is";  // what limits the length, in messages
    std::string too_long_help = rows::kTooLongHelp;
    rows::TooLong too_long = rows::TooLong::truncate;
    /// If true, rows that cannot be used get RowStatus::bad_row; otherwise they are errors.
    bool may_be_bad = false;
    rows::KeptColumns kept{};
  };

  TeacherEncoder(rows::RowEncoder encoder, Options options);
  TeacherSample encode(const input::Row& row, const fs::path& file);

private:
  void fit(TeacherSample& sample, const input::Row& row, const fs::path& file) const;

  rows::RowEncoder encoder_;
  Options options_;
};

}  // namespace mgpu::jobs
