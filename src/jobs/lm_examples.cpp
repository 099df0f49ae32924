#include <algorithm>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/jobs/lm_examples.hpp>

#include "json_fields.hpp"

namespace mgpu::jobs {
namespace {

using store::JsonError;
using store::JsonValue;

/// How many tokens two lists begin with alike.
std::int64_t shared_tokens(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

}  // namespace

ExampleEncoder::ExampleEncoder(text::TextFolder folder, std::int64_t seq_len, std::int64_t vocab)
    : folder_(std::move(folder)), seq_len_(seq_len), vocab_(vocab) {}

std::vector<std::int64_t> ExampleEncoder::ids_of(const std::string& text,
                                                 bool add_special_tokens) const {
  const std::vector<text::TokenId> ids = folder_.tokenizer.encode(text, add_special_tokens);
  return {ids.begin(), ids.end()};
}

ExampleEncoder::Encoded ExampleEncoder::encode_text(const std::string& text) const {
  Encoded encoded{ids_of(text, true), {}};
  const bool ends = !encoded.ids.empty() && encoded.ids.back() == folder_.eos.id;
  if (folder_.eos.id >= 0 && !ends) encoded.ids.push_back(folder_.eos.id);
  encoded.is_learned.assign(encoded.ids.size(), 1);
  return encoded;
}

ExampleEncoder::Encoded ExampleEncoder::encode_completion(const std::string& prompt,
                                                          const std::string& completion) const {
  if (completion.empty()) throw JsonError("`completion` is empty");
  Encoded encoded = encode_text(prompt + completion);
  const std::int64_t given = shared_tokens(ids_of(prompt, true), encoded.ids);
  std::fill_n(encoded.is_learned.begin(), given, std::uint8_t{0});
  return encoded;
}

std::string ExampleEncoder::render(const std::vector<text::ChatMessage>& messages,
                                   bool begins_answer) {
  if (folder_.chat_template.empty())
    throw JsonError("it has messages, but the model's folder has no chat template");
  if (!chat_) chat_.emplace(folder_.chat_template);
  text::ChatOptions options;
  options.add_generation_prompt = begins_answer;
  options.special_tokens = folder_.special_tokens;
  return chat_->render(messages, options);
}

ExampleEncoder::Encoded ExampleEncoder::encode_messages(
    const std::vector<text::ChatMessage>& messages) {
  const std::string whole = render(messages, false);
  Encoded encoded{ids_of(whole, false), {}};
  encoded.is_learned.assign(encoded.ids.size(), 0);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role != "assistant") continue;
    if (i == 0) throw JsonError("`messages` begins with the assistant");
    const auto next = messages.begin() + static_cast<std::ptrdiff_t>(i);
    const std::string before = render({messages.begin(), next}, true);
    const std::string after = render({messages.begin(), next + 1}, false);
    if (!after.starts_with(before) || !whole.starts_with(after))
      throw JsonError("the chat template writes message " + std::to_string(i + 1) +
                      " in another way when others follow, so what to learn is not known");
    const std::int64_t begin = shared_tokens(ids_of(before, false), encoded.ids);
    const std::int64_t end = shared_tokens(ids_of(after, false), encoded.ids);
    std::fill(encoded.is_learned.begin() + begin, encoded.is_learned.begin() + end,
              std::uint8_t{1});
  }
  return encoded;
}

ExampleEncoder::Encoded ExampleEncoder::encode(const JsonValue& object) {
  const JsonValue* messages = object.find("messages");
  const JsonValue* text = object.find("text");
  const JsonValue* prompt = object.find("prompt");
  const int given = (messages != nullptr) + (text != nullptr) + (prompt != nullptr);
  if (given == 0) throw JsonError("it has none of `prompt`, `messages` and `text`");
  if (given > 1) throw JsonError("it has more than one of `prompt`, `messages` and `text`");
  if (messages != nullptr) return encode_messages(messages_of(*messages));
  if (text != nullptr) return encode_text(text_of(text, "text"));
  return encode_completion(text_of(prompt, "prompt"),
                           text_of(object.find("completion"), "completion"));
}

void ExampleEncoder::check(const Encoded& encoded) const {
  for (const std::int64_t id : encoded.ids)
    if (id >= vocab_)
      throw JsonError("token " + std::to_string(id) + " is not in the model's vocabulary of " +
                      std::to_string(vocab_));
  const auto& learned = encoded.is_learned;
  if (learned.empty() || std::find(learned.begin() + 1, learned.end(), 1) == learned.end())
    throw JsonError("there is nothing to learn in it");
}

void ExampleEncoder::append(const Encoded& encoded, bool may_cut,
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

void ExampleEncoder::add(const store::JsonLine& line, algorithms::LmExamples& examples,
                         store::LineProblems& problems) {
  use_line(line.number, problems, [&] {
    const Encoded encoded = encode(line.object);
    check(encoded);
    append(encoded, line.object.find("text") != nullptr, examples);
  });
}

algorithms::LmExamples encode_examples(std::string_view text, const fs::path& name,
                                       ExampleEncoder& encoder) {
  store::LineProblems problems(name);
  algorithms::LmExamples examples;
  for (const store::JsonLine& line : store::parse_json_lines(text, problems))
    encoder.add(line, examples, problems);
  problems.throw_if_any();
  return examples;
}

}  // namespace mgpu::jobs
