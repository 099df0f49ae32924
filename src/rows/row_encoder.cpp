#include <algorithm>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/row_encoder.hpp>
#include <mgpu/rows/tokenizer_files.hpp>

namespace mgpu::rows {
namespace {

using formats::JsonError;
using formats::JsonValue;

/// Returns the length of the common prefix of two lists.
std::int64_t shared_tokens(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

}  // namespace

RowEncoder::RowEncoder(std::optional<text::TextFolder> folder, Options options)
    : folder_(std::move(folder)), options_(std::move(options)) {}

const text::TextFolder& RowEncoder::folder() const {
  if (!folder_) refuse_absent_tokenizer(options_.folder, "a row with a text");
  return *folder_;
}

std::vector<std::int64_t> RowEncoder::ids_of(const std::string& text,
                                             bool add_special_tokens) const {
  const std::vector<text::TokenId> ids = folder().tokenizer.encode(text, add_special_tokens);
  return {ids.begin(), ids.end()};
}

LearnedText RowEncoder::encode_text(const std::string& text, bool ends) const {
  LearnedText encoded{ids_of(text, true), {}};
  const bool has_eos = !encoded.ids.empty() && encoded.ids.back() == folder().eos.id;
  if (ends && folder().eos.id >= 0 && !has_eos) encoded.ids.push_back(folder().eos.id);
  encoded.is_learned.assign(encoded.ids.size(), 1);
  return encoded;
}

LearnedText RowEncoder::encode_completion(const std::string& prompt,
                                          const std::string& completion) const {
  if (completion.empty()) throw JsonError("its completion is empty");
  LearnedText encoded = encode_text(prompt + completion, true);
  const std::int64_t given = shared_tokens(ids_of(prompt, true), encoded.ids);
  std::fill_n(encoded.is_learned.begin(), given, std::uint8_t{0});
  check_ids(encoded);
  return encoded;
}

std::string RowEncoder::render(const std::vector<text::ChatMessage>& messages, bool begins_answer) {
  if (folder().chat_template.empty())
    throw JsonError("it has messages, but the model's folder has no chat template");
  if (!chat_) chat_.emplace(folder().chat_template);
  text::ChatOptions options;
  options.add_generation_prompt = begins_answer;
  options.special_tokens = folder().special_tokens;
  return chat_->render(messages, options);
}

LearnedText RowEncoder::encode_messages(const std::vector<text::ChatMessage>& messages) {
  const std::string whole = render(messages, false);
  LearnedText encoded{ids_of(whole, false), {}};
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

LearnedText RowEncoder::encode_content(const JsonValue& row) {
  if (const JsonValue* prompt = member_of(row, "prompt"))
    return encode_completion(text_of(prompt, "prompt"),
                             text_of(row.find("completion"), "completion"));
  if (const JsonValue* messages = member_of(row, "messages"))
    return encode_messages(messages_of(*messages));
  if (const JsonValue* text = member_of(row, "text"))
    return encode_text(text_of(text, "text"), options_.ends_texts);
  const JsonValue* token_ids = member_of(row, "token_ids");
  if (token_ids == nullptr) throw Error("a row has nothing to make tokens of");
  return encode_ids(rows::ids_of(*token_ids, "token_ids"), member_of(row, "completion_ids"));
}

LearnedText RowEncoder::encode_ids(std::vector<std::int64_t> ids, const JsonValue* completion) {
  LearnedText encoded{std::move(ids), {}};
  encoded.is_learned.assign(encoded.ids.size(), completion == nullptr ? 1 : 0);
  if (completion == nullptr) return encoded;
  const std::vector<std::int64_t> learned = rows::ids_of(*completion, "completion_ids");
  encoded.ids.insert(encoded.ids.end(), learned.begin(), learned.end());
  encoded.is_learned.resize(encoded.ids.size(), 1);
  return encoded;
}

void RowEncoder::check_ids(const LearnedText& encoded) const {
  for (const std::int64_t id : encoded.ids)
    if (id < 0 || id >= options_.vocab)
      throw JsonError("token " + std::to_string(id) + " is not in the model's vocabulary of " +
                      std::to_string(options_.vocab));
}

LearnedText RowEncoder::encode(const JsonValue& row) {
  LearnedText encoded = encode_content(row);
  check_ids(encoded);
  return encoded;
}

}  // namespace mgpu::rows
