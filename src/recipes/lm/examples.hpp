#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <mgpu/input/row_file.hpp>
#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/rows/prompt_template.hpp>
#include <mgpu/rows/row_encoder.hpp>
#include <mgpu/text/text_folder.hpp>

#include "method.hpp"

namespace mgpu::recipes {

/// Encodes rows of training data as examples. An example has token ids, and a flag per token: 1
/// if the loss counts the token, else 0.
class ExampleEncoder {
public:
  /// An example has at most `seq_len` tokens. A longer row with the member `text` is cut into
  /// pieces that overlap by one token. Longer rows with `prompt`, `messages` or `token_ids` are
  /// refused.
  ExampleEncoder(std::optional<text::TextFolder> folder, std::int64_t seq_len,
                 rows::RowEncoder::Options options);

  /// Makes prepare() apply a template to each row.
  void set_template(rows::RowTemplate row_template) { template_ = std::move(row_template); }

  /// Returns `options`, changed to read the columns that the template needs instead of those that
  /// the training method needs. Without a template, returns `options` unchanged.
  input::RowOptions with_columns(input::RowOptions options) const;

  /// Returns the row that the template makes from `row`. The new row has `prompt` and `completion`,
  /// or `messages`. Without a template, returns `row` unchanged.
  /// Errors: JsonError if the template cannot use the row.
  formats::JsonValue prepare(const formats::JsonValue& row) const;

  /// Adds the examples of a row to `examples`. A row with the member `text` that has more than
  /// seq_len tokens gives several examples.
  /// Errors: JsonError if the row cannot be used; the failures of rows::RowEncoder::encode()
  void add_row(const formats::JsonValue& row, lm::LmExamples& examples);

  /// Adds two examples: a row's prompt with the chosen completion, and with the rejected one. See
  /// rows::RowEncoder::encode_pair() for the members of the row.
  /// Errors: JsonError if the row cannot be used, or if an example has more than seq_len tokens or
  ///         no token that is learned; the failures of rows::RowEncoder::encode()
  void add_pair(const formats::JsonValue& row, lm::LmExamples& examples);

  /// Adds an example that is a prompt without completion, so the loss counts none of its tokens.
  /// Also adds the texts `prompt`, `answer` and `messages` to LmExamples::texts. `answer` is "" if
  /// the row has no right answer. `messages` is a JSON object, or "" if the row has no messages.
  /// See rows::RowEncoder::encode_prompt() for the members of the row.
  /// Errors: JsonError if the row cannot be used, or if the prompt with `room` more tokens exceeds
  ///         seq_len tokens; the failures of rows::RowEncoder::encode()
  void add_prompt(const formats::JsonValue& row, std::int64_t room, lm::LmExamples& examples);

  /// Adds one example: a row's prompt with its completion, whose tokens the loss counts. See
  /// rows::RowEncoder::encode_judged() for the members of the row.
  /// Errors: those of add_pair().
  void add_judged(const formats::JsonValue& row, lm::LmExamples& examples);

  /// Adds one example, a prompt with the steps of a solution. The loss counts the last token of
  /// each step.
  /// Errors: JsonError if the example has more than seq_len tokens, or if no step ends after the
  ///         first token of the example.
  void add_steps(const rows::StepTokens& tokens, lm::LmExamples& examples) const;

  /// Returns the encoder of rows, for methods that tokenize texts themselves.
  const rows::RowEncoder& rows() const { return rows_; }

  std::int64_t seq_len() const { return seq_len_; }

  /// Returns the id of the padding token, as rows::padding_id() does; -1 without a tokenizer.
  std::int64_t padding_id() const { return padding_id_; }

private:
  void append(const rows::LearnedText& encoded, bool may_cut, lm::LmExamples& examples) const;

  bool is_chat_;  // the folder has a chat template
  std::int64_t padding_id_;
  rows::RowEncoder rows_;
  std::int64_t seq_len_;
  std::optional<rows::RowTemplate> template_;
};

/// Returns `options`. If `method` reads the file itself, RowOptions::generated of the result has
/// the rows that LmMethod::open_file() returns.
/// Errors: those of LmMethod::open_file().
input::RowOptions opened(input::RowOptions options, const LmMethod& method);

/// The examples of the rows of a file, and the number of rows that were left out because they
/// cannot be used.
struct EncodedExamples {
  lm::LmExamples examples;
  std::int64_t bad_rows = 0;
  std::string first_bad;  // first row that was left out: "data.jsonl:3: it is an empty line"; or ""
  std::string note;       // the file, and what LmMethod::complete() left out; empty: nothing
};

/// Encodes all rows of a file, in order. With BadRow::mark, rows that cannot be used are left out.
/// Errors: those of opened(), open_rows() and LmMethod::complete(); Failure E531 (exit 65) with the
///         rows that cannot be used. With BadRow::mark, E531 is thrown for such rows only if no row
///         can be used.
EncodedExamples encode_examples(const input::RowOptions& options, ExampleEncoder& encoder,
                                const LmMethod& method = LmMethod(), RowUse use = RowUse::training);

}  // namespace mgpu::recipes
