#include <algorithm>
#include <string>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/jobs/lm_examples.hpp>

#include "json_fields.hpp"

namespace mgpu::jobs {
namespace {

using store::JsonError;

void check(const LearnedText& encoded) {
  const auto& learned = encoded.is_learned;
  if (learned.empty() || std::find(learned.begin() + 1, learned.end(), 1) == learned.end())
    throw JsonError("there is nothing to learn in it");
}

void require_prompt(const store::JsonValue& object, const LearnedText& encoded) {
  constexpr const char* kWhy =
      ", and distill.on_policy completes prompts: give it `prompt` and "
      "`completion`, or `messages`";
  for (const char* name : {"text", "token_ids"})
    if (member_of(object, name) != nullptr)
      throw JsonError(std::string("it has `") + name + "`" + kWhy);
  if (encoded.is_learned.front() != 0)
    throw JsonError("its prompt has no tokens that distill.on_policy could complete");
}

}  // namespace

ExampleEncoder::ExampleEncoder(text::TextFolder folder, std::int64_t seq_len, std::int64_t vocab)
    : rows_(std::move(folder), {.vocab = vocab, .ends_texts = true}), seq_len_(seq_len) {}

void ExampleEncoder::append(const LearnedText& encoded, bool may_cut,
                            algorithms::LmExamples& examples) const {
  const auto length = static_cast<std::int64_t>(encoded.ids.size());
  if (length > seq_len_ && !may_cut)
    throw JsonError("it has " + std::to_string(length) + " tokens, more than train.seq_len (" +
                    std::to_string(seq_len_) + ")");
  // The last piece has two tokens at least: one to see, one to learn.
  for (std::int64_t begin = 0; begin == 0 || begin + 1 < length; begin += seq_len_ - 1) {
    const std::int64_t end = std::min(length, begin + seq_len_);
    examples.ids.insert(examples.ids.end(), encoded.ids.begin() + begin, encoded.ids.begin() + end);
    examples.is_learned.insert(examples.is_learned.end(), encoded.is_learned.begin() + begin,
                               encoded.is_learned.begin() + end);
    examples.ends.push_back(static_cast<std::int64_t>(examples.ids.size()));
  }
}

void ExampleEncoder::add(const store::JsonLine& line, ExampleKind kind,
                         algorithms::LmExamples& examples, store::LineProblems& problems) {
  use_line(line.number, problems, [&] {
    const LearnedText encoded = rows_.encode(line.object);
    check(encoded);
    if (kind == ExampleKind::with_prompt) require_prompt(line.object, encoded);
    append(encoded, line.object.find("text") != nullptr, examples);
  });
}

algorithms::LmExamples encode_examples(std::string_view text, const fs::path& name,
                                       ExampleEncoder& encoder, ExampleKind kind) {
  store::LineProblems problems(name);
  algorithms::LmExamples examples;
  for (const store::JsonLine& line : store::parse_json_lines(text, problems))
    encoder.add(line, kind, examples, problems);
  problems.throw_if_any();
  return examples;
}

}  // namespace mgpu::jobs
