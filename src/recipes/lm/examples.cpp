#include "examples.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <mgpu/base/activity.hpp>
#include <mgpu/formats/line_problems.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/row_problems.hpp>

#include "example_lists.hpp"

namespace mgpu::recipes {
namespace {

using formats::JsonError;

constexpr std::int64_t kRowsAtOnce = 64;
constexpr const char* kTooLongHelp = "a larger train.seq_len";  // for errors about generated rows

void check(const rows::LearnedText& encoded) {
  const auto& learned = encoded.is_learned;
  if (learned.empty() || std::find(learned.begin() + 1, learned.end(), 1) == learned.end())
    throw JsonError("there is nothing to learn in it");
}

/// Adds all examples of a row, or none. Returns why the row cannot be used, or "" if it can.
std::string add_examples(const input::Row& row, const LmMethod& method, RowUse use,
                         ExampleEncoder& encoder, lm::LmExamples& examples) {
  if (!row.problem.empty()) return row.problem;
  return rows::problem_of([&] {
    lm::LmExamples of_row;
    method.encode(encoder.prepare(row.object), use, encoder, of_row);
    const bool is_whole = std::ssize(of_row.ends) == method.examples_of_row();
    if (method.group_size() > 1 && !is_whole) throw Error("LmMethod: a row gave no whole group");
    append_examples(of_row, examples);
  });
}

/// Calls LmMethod::complete() for the rows of the file `path`, and returns its note with the path.
/// Errors: Failure of complete(), with the path.
std::string complete(const LmMethod& method, std::int64_t seq_len, RowUse use,
                     const std::string& path, lm::LmExamples& examples) {
  try {
    const std::string note = method.complete(seq_len, use, examples);
    return note.empty() ? "" : path + ": " + note;
  } catch (const Failure& failure) {
    ErrorReport report = failure.report();
    if (report.lines.empty()) report.lines = {"  --> " + path};
    throw Failure(std::move(report));
  }
}

}  // namespace

ExampleEncoder::ExampleEncoder(std::optional<text::TextFolder> folder, std::int64_t seq_len,
                               rows::RowEncoder::Options options)
    : is_chat_(folder && !folder->chat_template.empty()),
      padding_id_(folder ? rows::padding_id(*folder) : -1),
      rows_(std::move(folder), std::move(options)),
      seq_len_(seq_len) {}

input::RowOptions ExampleEncoder::with_columns(input::RowOptions options) const {
  if (!template_) return options;
  options.one_of.clear();
  options.may_have.clear();
  options.all_of = {"text", "label"};
  return options;
}

formats::JsonValue ExampleEncoder::prepare(const formats::JsonValue& row) const {
  return template_ ? template_->apply(row, is_chat_) : row;
}

void ExampleEncoder::append(const rows::LearnedText& encoded, bool may_cut,
                            lm::LmExamples& examples) const {
  const auto length = static_cast<std::int64_t>(encoded.ids.size());
  check(encoded);
  if (length > seq_len_ && !may_cut)
    throw JsonError("it has " + std::to_string(length) + " tokens, more than train.seq_len (" +
                    std::to_string(seq_len_) + ")");
  // The last piece has at least two tokens: one as context, and one that is learned.
  for (std::int64_t begin = 0; begin == 0 || begin + 1 < length; begin += seq_len_ - 1) {
    const std::int64_t end = std::min(length, begin + seq_len_);
    examples.ids.insert(examples.ids.end(), encoded.ids.begin() + begin, encoded.ids.begin() + end);
    examples.is_learned.insert(examples.is_learned.end(), encoded.is_learned.begin() + begin,
                               encoded.is_learned.begin() + end);
    examples.ends.push_back(static_cast<std::int64_t>(examples.ids.size()));
  }
}

void ExampleEncoder::add_row(const formats::JsonValue& row, lm::LmExamples& examples) {
  append(rows_.encode(row), rows::member_of(row, "text") != nullptr, examples);
}

void ExampleEncoder::add_pair(const formats::JsonValue& row, lm::LmExamples& examples) {
  const rows::LearnedPair pair = rows_.encode_pair(row);
  append(pair.chosen, false, examples);
  append(pair.rejected, false, examples);
}

void ExampleEncoder::add_prompt(const formats::JsonValue& row, std::int64_t room,
                                lm::LmExamples& examples) {
  rows::PromptText prompt = rows_.encode_prompt(row);
  const std::int64_t length = std::ssize(prompt.ids);
  if (length + room > seq_len_)
    throw JsonError("its prompt has " + std::to_string(length) + " tokens, and with " +
                    std::to_string(room) + " new ones it is longer than train.seq_len (" +
                    std::to_string(seq_len_) + ")");
  examples.ids.insert(examples.ids.end(), prompt.ids.begin(), prompt.ids.end());
  examples.is_learned.resize(examples.ids.size(), 0);
  examples.ends.push_back(std::ssize(examples.ids));
  examples.texts["prompt"].push_back(std::move(prompt.text));
  examples.texts["answer"].push_back(rows::answer_of(row));
  const bool has_messages = !prompt.messages.empty();
  examples.texts["messages"].push_back(
      has_messages ? "{\"messages\":" + formats::to_json_line(row.at("messages")) + "}" : "");
}

void ExampleEncoder::add_judged(const formats::JsonValue& row, lm::LmExamples& examples) {
  append(rows_.encode_judged(row), false, examples);
}

void ExampleEncoder::add_steps(const rows::StepTokens& tokens, lm::LmExamples& examples) const {
  rows::LearnedText encoded{tokens.ids, std::vector<std::uint8_t>(tokens.ids.size(), 0)};
  for (const std::int64_t end : tokens.ends)
    encoded.is_learned.at(static_cast<std::size_t>(end - 1)) = 1;
  append(encoded, false, examples);
}

input::RowOptions opened(input::RowOptions options, const LmMethod& method) {
  if (!options.generated) options.generated = method.open_file(options.path);
  return options;
}

EncodedExamples encode_examples(const input::RowOptions& options, ExampleEncoder& encoder,
                                const LmMethod& method, RowUse use) {
  const input::RowFile rows =
      input::open_rows(encoder.with_columns(method.row_options(opened(options, method))));
  formats::LineProblems problems(rows.path());
  EncodedExamples encoded;
  encoded.examples.group_size = method.group_size();
  for (std::int64_t first = 0; first < rows.rows(); first += kRowsAtOnce) {
    mark_progress();
    for (const input::Row& row : rows.read(first, std::min(kRowsAtOnce, rows.rows() - first))) {
      const std::string problem = add_examples(row, method, use, encoder, encoded.examples);
      if (!problem.empty()) problems.add(row.line, problem);
    }
  }
  const bool may_be_bad = options.on_bad_row == input::BadRow::mark;
  if (!may_be_bad || encoded.examples.size() == 0)
    problems.throw_if_any(options.generated ? kTooLongHelp : input::kBadRowHelp);
  encoded.note = complete(method, encoder.seq_len(), use, rows.path(), encoded.examples);
  encoded.bad_rows = problems.count();
  if (encoded.bad_rows > 0) encoded.first_bad = problems.first_text();
  return encoded;
}

}  // namespace mgpu::recipes
