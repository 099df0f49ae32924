#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/algorithms/lm_windows.hpp>
#include <mgpu/store/json_lines.hpp>
#include <mgpu/text/chat_template.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::jobs {

/// Turns lines of training data into examples: `prompt` and `completion`, of which the completion
/// is learned; `messages`, of which what the assistant says is learned, in the form of the
/// folder's chat template; `text`, which is learned whole. Other members are the user's own.
///
/// A completion and a text end with the eos token, where the folder has one. What a completion
/// teaches begins with the first token that it changes: prompt and both together are tokenized,
/// and may share fewer tokens than the prompt has.
class ExampleEncoder {
public:
  /// Shapes: examples have at most seq_len tokens; longer texts are cut, each piece begins with
  ///         the last token of the one before; longer completions are problems
  ExampleEncoder(text::TextFolder folder, std::int64_t seq_len, std::int64_t vocab);

  /// The examples of a line, or a problem.
  /// Errors: Failure E544, E546 of the folder's chat template.
  void add(const store::JsonLine& line, algorithms::LmExamples& examples,
           store::LineProblems& problems);

private:
  /// Tokens of one line, and where they are learned.
  struct Encoded {
    std::vector<std::int64_t> ids;
    std::vector<std::uint8_t> is_learned;
  };

  Encoded encode(const store::JsonValue& object);
  Encoded encode_text(const std::string& text) const;
  Encoded encode_completion(const std::string& prompt, const std::string& completion) const;
  Encoded encode_messages(const std::vector<text::ChatMessage>& messages);
  std::string render(const std::vector<text::ChatMessage>& messages, bool begins_answer);
  std::vector<std::int64_t> ids_of(const std::string& text, bool add_special_tokens) const;
  void check(const Encoded& encoded) const;
  void append(const Encoded& encoded, bool may_cut, algorithms::LmExamples& examples) const;

  text::TextFolder folder_;
  std::optional<text::ChatTemplate> chat_;
  std::int64_t seq_len_;
  std::int64_t vocab_;
};

/// All lines of a file. Errors: Failure E531 with the lines that cannot be used.
algorithms::LmExamples encode_examples(std::string_view text, const fs::path& name,
                                       ExampleEncoder& encoder);

}  // namespace mgpu::jobs
