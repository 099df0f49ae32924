#include <utility>

#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/prompt_encoder.hpp>
#include <mgpu/rows/row_problems.hpp>
#include <mgpu/rows/tokenizer_files.hpp>

namespace mgpu::rows {

using formats::JsonError;
using formats::JsonValue;

PromptEncoder::PromptEncoder(const std::optional<text::TextFiles>& files,
                             const std::filesystem::path& folder, const Options& options)
    : path_(folder),
      folder_(parse_tokenizer_files(files, folder, options.vocab)),
      options_(options) {}

const text::Tokenizer* PromptEncoder::tokenizer() const {
  return folder_ ? &folder_->tokenizer : nullptr;
}

EncodedPrompt PromptEncoder::encode(const input::Row& row) {
  EncodedPrompt encoded;
  std::string problem = row.problem;
  if (problem.empty()) problem = problem_of([&] { encoded = encode_content(row.object); });
  if (!problem.empty()) encoded = {"", {}, {RowStatus::bad_row, std::move(problem)}};
  return encoded;
}

EncodedPrompt PromptEncoder::encode_content(const JsonValue& row) {
  if (const JsonValue* ids = member_of(row, "token_ids"))
    return encode_ids(ids_of(*ids, "token_ids"));
  if (const JsonValue* list = member_of(row, "messages")) {
    std::vector<text::ChatMessage> messages = messages_of(*list, "messages");
    EncodedPrompt encoded = encode_text(render(messages), false);
    encoded.messages = std::move(messages);
    return encoded;
  }
  return encode_text(text_of(member_of(row, "prompt"), "prompt"), options_.add_special_tokens);
}

std::string PromptEncoder::decode(std::span<const std::int64_t> ids) const {
  if (!folder_) return "";
  return folder_->tokenizer.decode(std::vector<text::TokenId>(ids.begin(), ids.end()), true);
}

EncodedPrompt PromptEncoder::encode_text(std::string_view text, bool add_special_tokens) const {
  if (!folder_) refuse_absent_tokenizer(path_, "a row with a text");
  const std::vector<text::TokenId> ids = folder_->tokenizer.encode(text, add_special_tokens);
  if (ids.empty()) throw JsonError("its text has no tokens");
  EncodedPrompt encoded{std::string(text), {ids.begin(), ids.end()}};
  check_ids(encoded.ids);
  return encoded;
}

EncodedPrompt PromptEncoder::encode_ids(std::vector<std::int64_t> ids) const {
  check_ids(ids);
  std::string text;
  if (folder_)
    text = folder_->tokenizer.decode(std::vector<text::TokenId>(ids.begin(), ids.end()), false);
  return {std::move(text), std::move(ids)};
}

std::string PromptEncoder::render(const std::vector<text::ChatMessage>& messages) {
  if (!folder_) refuse_absent_tokenizer(path_, "a row with messages");
  if (folder_->chat_template.empty())
    throw JsonError("it has messages, but the model's folder has no chat template");
  if (!chat_) chat_.emplace(folder_->chat_template);
  text::ChatOptions options;
  options.add_generation_prompt = options_.add_generation_prompt;
  options.special_tokens = folder_->special_tokens;
  return chat_->render(messages, options);
}

void PromptEncoder::check_ids(const std::vector<std::int64_t>& ids) const {
  for (const std::int64_t id : ids)
    if (id < 0 || id >= options_.vocab)
      throw JsonError("token " + std::to_string(id) + " is not in the model's vocabulary of " +
                      std::to_string(options_.vocab));
}

}  // namespace mgpu::rows
