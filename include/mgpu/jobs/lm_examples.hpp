#pragma once

#include <string_view>

#include <mgpu/algorithms/lm_windows.hpp>
#include <mgpu/jobs/row_encoder.hpp>
#include <mgpu/store/json_lines.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::jobs {

/// Which lines can be used.
enum class ExampleKind {
  any,
  with_prompt,  // `prompt` and `completion`, or `messages`, and tokens before what is learned
};

/// Turns lines of training data into examples, as RowEncoder does.
class ExampleEncoder {
public:
  /// Shapes: examples have at most seq_len tokens; longer texts are cut, each piece begins with
  ///         the last token of the one before; longer completions are problems
  ExampleEncoder(text::TextFolder folder, std::int64_t seq_len, std::int64_t vocab);

  /// The examples of a line, or a problem.
  /// Errors: Failure E544, E546 of the folder's chat template.
  void add(const store::JsonLine& line, ExampleKind kind, algorithms::LmExamples& examples,
           store::LineProblems& problems);

private:
  void append(const LearnedText& encoded, bool may_cut, algorithms::LmExamples& examples) const;

  RowEncoder rows_;
  std::int64_t seq_len_;
};

/// All lines of a file. Errors: Failure E531 with the lines that cannot be used.
algorithms::LmExamples encode_examples(std::string_view text, const fs::path& name,
                                       ExampleEncoder& encoder,
                                       ExampleKind kind = ExampleKind::any);

}  // namespace mgpu::jobs
