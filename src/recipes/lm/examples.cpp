#include "examples.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <mgpu/base/activity.hpp>
#include <mgpu/formats/line_problems.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/row_problems.hpp>

namespace mgpu::recipes {
namespace {

using formats::JsonError;

constexpr std::int64_t kRowsAtOnce = 64;
constexpr const char* kTooLongHelp = "a larger train.seq_len";  // generated rows are right

void check(const rows::LearnedText& encoded) {
  const auto& learned = encoded.is_learned;
  if (learned.empty() || std::find(learned.begin() + 1, learned.end(), 1) == learned.end())
    throw JsonError("there is nothing to learn in it");
}

void require_prompt(const formats::JsonValue& object, const rows::LearnedText& encoded) {
  constexpr const char* kWhy =
      ", and distill.on_policy completes prompts: give it `prompt` and "
      "`completion`, or `messages`";
  for (const char* name : {"text", "token_ids"})
    if (rows::member_of(object, name) != nullptr && !rows::member_of(object, "completion_ids"))
      throw JsonError(std::string("it has `") + name + "`" + kWhy);
  if (encoded.is_learned.front() != 0)
    throw JsonError("its prompt has no tokens that distill.on_policy could complete");
}

}  // namespace

input::RowOptions example_row_options(input::RowOptions options) {
  options.one_of = {"prompt", "messages", "text", "token_ids"};
  options.may_have = {"completion", "completion_ids"};
  return options;
}

ExampleEncoder::ExampleEncoder(std::optional<text::TextFolder> folder, std::int64_t seq_len,
                               std::int64_t vocab)
    : rows_(std::move(folder), {.vocab = vocab, .ends_texts = true}), seq_len_(seq_len) {}

void ExampleEncoder::append(const rows::LearnedText& encoded, bool may_cut,
                            lm::LmExamples& examples) const {
  const auto length = static_cast<std::int64_t>(encoded.ids.size());
  if (length > seq_len_ && !may_cut)
    throw JsonError("it has " + std::to_string(length) + " tokens, more than train.seq_len (" +
                    std::to_string(seq_len_) + ")");
  // The last piece has at least two tokens: one as context, one to learn.
  for (std::int64_t begin = 0; begin == 0 || begin + 1 < length; begin += seq_len_ - 1) {
    const std::int64_t end = std::min(length, begin + seq_len_);
    examples.ids.insert(examples.ids.end(), encoded.ids.begin() + begin, encoded.ids.begin() + end);
    examples.is_learned.insert(examples.is_learned.end(), encoded.is_learned.begin() + begin,
                               encoded.is_learned.begin() + end);
    examples.ends.push_back(static_cast<std::int64_t>(examples.ids.size()));
  }
}

std::string ExampleEncoder::add(const input::Row& row, ExampleKind kind, lm::LmExamples& examples) {
  if (!row.problem.empty()) return row.problem;
  return rows::problem_of([&] {
    const rows::LearnedText encoded = rows_.encode(row.object);
    check(encoded);
    if (kind == ExampleKind::with_prompt) require_prompt(row.object, encoded);
    append(encoded, rows::member_of(row.object, "text") != nullptr, examples);
  });
}

EncodedExamples encode_examples(const input::RowOptions& options, ExampleEncoder& encoder,
                                ExampleKind kind) {
  const input::RowFile rows = input::open_rows(example_row_options(options));
  formats::LineProblems problems(rows.path());
  EncodedExamples encoded;
  for (std::int64_t first = 0; first < rows.rows(); first += kRowsAtOnce) {
    mark_progress();
    for (const input::Row& row : rows.read(first, std::min(kRowsAtOnce, rows.rows() - first))) {
      const std::string problem = encoder.add(row, kind, encoded.examples);
      if (!problem.empty()) problems.add(row.line, problem);
    }
  }
  const bool may_be_bad = options.on_bad_row == input::BadRow::mark;
  if (!may_be_bad || encoded.examples.size() == 0)
    problems.throw_if_any(options.generated ? kTooLongHelp : input::kBadRowHelp);
  encoded.bad_rows = problems.count();
  if (encoded.bad_rows > 0) encoded.first_bad = problems.first_text();
  return encoded;
}

}  // namespace mgpu::recipes
