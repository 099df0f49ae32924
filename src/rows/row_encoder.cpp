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

/// Returns the length of the common prefix of two lists of tokens.
std::int64_t shared_tokens(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

/// Masks the common prefix of `prompt` and `encoded`, so that the loss does not cover it.
void learn_after(const std::vector<std::int64_t>& prompt, LearnedText& encoded) {
  const std::int64_t given = shared_tokens(prompt, encoded.ids);
  std::fill_n(encoded.is_learned.begin(), given, std::uint8_t{0});
}

/// Masks the common prefix of `prompt` and both sequences of the pair, so that the loss does not
/// cover it.
void learn_after(const std::vector<std::int64_t>& prompt, LearnedPair& pair) {
  const std::int64_t given =
      std::min(shared_tokens(prompt, pair.chosen.ids), shared_tokens(prompt, pair.rejected.ids));
  for (LearnedText* text : {&pair.chosen, &pair.rejected})
    std::fill_n(text->is_learned.begin(), given, std::uint8_t{0});
}

using Messages = std::vector<text::ChatMessage>;

/// Returns the messages with which both conversations begin. The last message of a conversation is
/// never among them.
Messages shared_messages(const Messages& chosen, const Messages& rejected) {
  const auto most = static_cast<std::ptrdiff_t>(std::min(chosen.size(), rejected.size())) - 1;
  return {chosen.begin(),
          std::mismatch(chosen.begin(), chosen.begin() + most, rejected.begin()).first};
}

/// Returns the messages of the prompt:
/// - If `prompt` is a list, returns its messages, and inserts them before both conversations.
/// - If `prompt` is missing (nullptr), returns the shared_messages() of the conversations.
/// - If `prompt` is a text, returns the shared_messages(), the last of which must be this text.
Messages take_prompt(const JsonValue* prompt, Messages& chosen, Messages& rejected) {
  if (prompt != nullptr && prompt->list() != nullptr) {
    Messages messages = messages_of(*prompt, "prompt");
    for (Messages* answer : {&chosen, &rejected})
      answer->insert(answer->begin(), messages.begin(), messages.end());
    return messages;
  }
  Messages messages = shared_messages(chosen, rejected);
  if (messages.empty())
    throw JsonError(
        "`chosen` and `rejected` begin with different messages, and `prompt` is no list of "
        "messages");
  if (prompt != nullptr && text_of(prompt, "prompt") != messages.back().content)
    throw JsonError("`prompt` is a text that `chosen` and `rejected` do not both repeat");
  return messages;
}

}  // namespace

std::int64_t padding_id(const text::TextFolder& folder) {
  return folder.pad.id >= 0 ? folder.pad.id : folder.eos.id;
}

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
  learn_after(ids_of(prompt, true), encoded);
  return encoded;
}

LearnedPair RowEncoder::encode_texts(const JsonValue& row) const {
  const std::string& prompt = text_of(member_of(row, "prompt"), "prompt");
  const std::string& chosen = text_of(row.find("chosen"), "chosen");
  const std::string& rejected = text_of(row.find("rejected"), "rejected");
  if (chosen.empty() || rejected.empty())
    throw JsonError(chosen.empty() ? "`chosen` is empty" : "`rejected` is empty");
  LearnedPair pair{encode_text(prompt + chosen, true), encode_text(prompt + rejected, true)};
  learn_after(ids_of(prompt, true), pair);
  return pair;
}

LearnedText RowEncoder::encode_answer(const std::string& prompt,
                                      const std::vector<text::ChatMessage>& messages) {
  const std::string whole = render(messages, false);
  if (!whole.starts_with(prompt))
    throw JsonError(
        "the chat template writes the prompt in another way when an answer follows, so what to "
        "learn is not known");
  LearnedText encoded{ids_of(whole, false), {}};
  encoded.is_learned.assign(encoded.ids.size(), 1);
  return encoded;
}

LearnedPair RowEncoder::encode_conversations(const JsonValue& row) {
  Messages chosen = messages_of(*row.find("chosen"), "chosen");
  Messages rejected = messages_of(*row.find("rejected"), "rejected");
  const Messages prompt = take_prompt(member_of(row, "prompt"), chosen, rejected);
  const std::string before = render(prompt, true);
  LearnedPair pair{encode_answer(before, chosen), encode_answer(before, rejected)};
  learn_after(ids_of(before, false), pair);
  return pair;
}

LearnedText RowEncoder::encode_judged(const JsonValue& row) {
  const JsonValue* prompt = member_of(row, "prompt");
  const JsonValue* completion = member_of(row, "completion");
  LearnedText encoded;
  if (completion != nullptr && completion->list() != nullptr) {
    if (prompt == nullptr || prompt->list() == nullptr)
      throw JsonError("`completion` is a list of messages, and `prompt` is none");
    Messages messages = messages_of(*prompt, "prompt");
    const std::string before = render(messages, true);
    const Messages answer = messages_of(*completion, "completion");
    messages.insert(messages.end(), answer.begin(), answer.end());
    encoded = encode_answer(before, messages);
    learn_after(ids_of(before, false), encoded);
  } else {
    encoded = encode_completion(text_of(prompt, "prompt"), text_of(completion, "completion"));
  }
  check_ids(encoded.ids);
  return encoded;
}

LearnedPair RowEncoder::encode_pair(const JsonValue& row) {
  const JsonValue* chosen = member_of(row, "chosen");
  const JsonValue* rejected = member_of(row, "rejected");
  if (chosen == nullptr || rejected == nullptr)
    throw JsonError(chosen == nullptr ? "it has no `chosen`" : "it has no `rejected`");
  const bool has_messages = chosen->list() != nullptr;
  LearnedPair pair = has_messages ? encode_conversations(row) : encode_texts(row);
  check_ids(pair.chosen.ids);
  check_ids(pair.rejected.ids);
  if (pair.chosen.ids == pair.rejected.ids)
    throw JsonError("`chosen` and `rejected` are equal, so nothing can be preferred");
  return pair;
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

std::vector<std::int64_t> RowEncoder::ended_ids(const std::string& text) const {
  return encode_text(text, true).ids;
}

std::vector<std::int64_t> RowEncoder::rendered_ids(const Messages& messages) {
  return ids_of(render(messages, false), false);
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
    return encode_messages(messages_of(*messages, "messages"));
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

void RowEncoder::check_ids(const std::vector<std::int64_t>& ids) const {
  for (const std::int64_t id : ids)
    if (id < 0 || id >= options_.vocab)
      throw JsonError("token " + std::to_string(id) + " is not in the model's vocabulary of " +
                      std::to_string(options_.vocab));
}

PromptText RowEncoder::encode_prompt_content(const JsonValue& row) {
  if (const JsonValue* token_ids = member_of(row, "token_ids")) {
    PromptText prompt{"", rows::ids_of(*token_ids, "token_ids")};
    if (folder_)
      prompt.text = folder_->tokenizer.decode(
          std::vector<text::TokenId>(prompt.ids.begin(), prompt.ids.end()), false);
    return prompt;
  }
  if (const JsonValue* messages = member_of(row, "messages")) {
    Messages conversation = messages_of(*messages, "messages");
    std::string text = render(conversation, true);
    std::vector<std::int64_t> ids = ids_of(text, false);
    return {std::move(text), std::move(ids), std::move(conversation)};
  }
  const std::string& text = text_of(member_of(row, "prompt"), "prompt");
  return {text, ids_of(text, true)};
}

PromptText RowEncoder::encode_prompt(const JsonValue& row) {
  PromptText prompt = encode_prompt_content(row);
  if (prompt.ids.empty()) throw JsonError("its prompt has no tokens");
  check_ids(prompt.ids);
  return prompt;
}

LearnedText RowEncoder::encode(const JsonValue& row) {
  LearnedText encoded = encode_content(row);
  check_ids(encoded.ids);
  return encoded;
}

}  // namespace mgpu::rows
