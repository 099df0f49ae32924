#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/jobs/model_text.hpp>
#include <mgpu/jobs/prompt_rows.hpp>

#include "json_fields.hpp"

namespace mgpu::jobs {
namespace {

using store::JsonError;
using store::JsonValue;

PromptRow row_of(const store::JsonLine& line) {
  PromptRow row;
  row.line = line.number;
  const JsonValue* prompt = line.object.find("prompt");
  const JsonValue* messages = line.object.find("messages");
  const JsonValue* token_ids = line.object.find("token_ids");
  const int given = (prompt != nullptr) + (messages != nullptr) + (token_ids != nullptr);
  if (given == 0) throw JsonError("it has none of `prompt`, `messages` and `token_ids`");
  if (given > 1) throw JsonError("it has more than one of `prompt`, `messages` and `token_ids`");
  if (prompt != nullptr) row.prompt = text_of(prompt, "prompt");
  if (messages != nullptr) row.messages = messages_of(*messages);
  if (token_ids != nullptr) row.token_ids = token_ids_of(*token_ids);
  return row;
}

}  // namespace

std::vector<PromptRow> parse_prompt_rows(std::string_view text, store::LineProblems& problems) {
  std::vector<PromptRow> rows;
  for (const store::JsonLine& line : store::parse_json_lines(text, problems)) {
    try {
      rows.push_back(row_of(line));
    } catch (const JsonError& error) {
      problems.add(line.number, error.why());
    }
  }
  return rows;
}

PromptEncoder::PromptEncoder(const std::optional<text::TextFiles>& files,
                             const std::filesystem::path& folder, const Options& options)
    : folder_(parse_model_text(files, folder, options.vocab)), options_(options) {}

const text::Tokenizer* PromptEncoder::tokenizer() const {
  return folder_ ? &folder_->tokenizer : nullptr;
}

std::optional<EncodedPrompt> PromptEncoder::encode(const PromptRow& row,
                                                   store::LineProblems& problems) {
  EncodedPrompt encoded;
  const bool is_used = use_line(row.line, problems, [&] {
    if (row.prompt) {
      encoded = encode_text(*row.prompt, options_.add_special_tokens);
    } else if (!row.messages.empty()) {
      encoded = encode_text(render(row), false);
    } else {
      check_ids(row.token_ids);
      encoded = {"", row.token_ids};
      if (folder_) {
        const std::vector<text::TokenId> ids(row.token_ids.begin(), row.token_ids.end());
        encoded.text = folder_->tokenizer.decode(ids, false);
      }
    }
    check_ids(encoded.ids);
  });
  if (!is_used) return std::nullopt;
  return encoded;
}

std::string PromptEncoder::decode(std::span<const std::int64_t> ids) const {
  if (!folder_) return "";
  return folder_->tokenizer.decode(std::vector<text::TokenId>(ids.begin(), ids.end()), true);
}

EncodedPrompt PromptEncoder::encode_text(std::string_view text, bool add_special_tokens) const {
  if (!folder_) throw JsonError("it has a text, but the model's folder has no tokenizer.json");
  const std::vector<text::TokenId> ids = folder_->tokenizer.encode(text, add_special_tokens);
  if (ids.empty()) throw JsonError("its text has no tokens");
  return {std::string(text), {ids.begin(), ids.end()}};
}

std::string PromptEncoder::render(const PromptRow& row) {
  if (!folder_) throw JsonError("it has messages, but the model's folder has no tokenizer.json");
  if (folder_->chat_template.empty())
    throw JsonError("it has messages, but the model's folder has no chat template");
  if (!chat_) chat_.emplace(folder_->chat_template);
  text::ChatOptions options;
  options.add_generation_prompt = options_.add_generation_prompt;
  options.special_tokens = folder_->special_tokens;
  return chat_->render(row.messages, options);
}

void PromptEncoder::check_ids(const std::vector<std::int64_t>& ids) const {
  for (const std::int64_t id : ids)
    if (id < 0 || id >= options_.vocab)
      throw JsonError("token " + std::to_string(id) + " is not in the model's vocabulary of " +
                      std::to_string(options_.vocab));
}

}  // namespace mgpu::jobs
