#pragma once

#include <cstdint>
#include <string>

#include <mgpu/input/row_file.hpp>
#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/rows/row_encoder.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::recipes {

/// Which rows can be used.
enum class ExampleKind {
  any,
  with_prompt,  // `prompt` and `completion`, or `messages`, and tokens before what is learned
};

/// What a row of training data is made of, and may have besides.
input::RowOptions example_row_options(input::RowOptions options);

/// Turns rows of training data into examples, as RowEncoder does.
class ExampleEncoder {
public:
  /// Shapes: examples have at most seq_len tokens; longer texts are cut, each piece begins with
  ///         the last token of the one before; longer completions cannot be used
  ExampleEncoder(text::TextFolder folder, std::int64_t seq_len, std::int64_t vocab);

  /// Adds the examples of a row. Returns why it cannot be used, "" where it can.
  /// Errors: Failure E544, E546 of the folder's chat template.
  std::string add(const input::Row& row, ExampleKind kind, lm::LmExamples& examples);

private:
  void append(const rows::LearnedText& encoded, bool may_cut, lm::LmExamples& examples) const;

  rows::RowEncoder rows_;
  std::int64_t seq_len_;
};

/// The examples of some rows, and the rows that were left out.
struct EncodedExamples {
  lm::LmExamples examples;
  std::int64_t bad_rows = 0;
  std::string first_bad;  // "data.jsonl:3: it is an empty line"; "" where there is none
};

/// All rows of a file, in its order; those that cannot be used are left out with BadRow::mark.
/// Errors: those of open_rows(); Failure E531 with the rows that cannot be used, with BadRow::mark
///         where all are.
EncodedExamples encode_examples(const input::RowOptions& options, ExampleEncoder& encoder,
                                ExampleKind kind = ExampleKind::any);

}  // namespace mgpu::recipes
