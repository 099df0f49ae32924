#include "samples.hpp"

#include <algorithm>
#include <string_view>

#include <mgpu/rows/json_fields.hpp>
#include <mgpu/rows/prompt_template.hpp>
#include <mgpu/rows/row_problems.hpp>

namespace mgpu::jobs {
namespace {

using formats::JsonError;
using formats::JsonValue;

constexpr std::string_view kHarmonyAnswer = "<|start|>assistant";
constexpr std::string_view kFinalChannel = "<|channel|>final<|message|>";

std::string shown_member(const JsonValue& row, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const JsonValue* value = rows::member_of(row, name);
    if (value == nullptr) continue;
    if (value->text() != nullptr) return *value->text();
    if (value->integer() != nullptr) return std::to_string(*value->integer());
  }
  return "";
}

std::size_t shared_tokens(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return static_cast<std::size_t>(end - a.begin());
}

/// Returns at most the first `bytes` bytes of a text, without an incomplete UTF-8 character at the
/// end.
std::string first_bytes(const std::string& text, std::size_t bytes) {
  while (bytes > 0 && bytes < text.size() &&
         (static_cast<unsigned char>(text[bytes]) & 0xC0U) == 0x80U)
    --bytes;
  return text.substr(0, bytes);
}

/// Returns a copy of the row in which member `text` has the value of parameter `text`.
JsonValue with_text(const JsonValue& row, const std::string& text) {
  JsonValue::Members members = *row.members();
  for (auto& [name, value] : members)
    if (name == "text") value = JsonValue(text);
  return JsonValue(std::move(members));
}

}  // namespace

ClassifyEncoder::ClassifyEncoder(text::TextFolder folder, Options options)
    : folder_(std::move(folder)), options_(std::move(options)) {
  if (!folder_.chat_template.empty()) chat_.emplace(folder_.chat_template);
}

ClassifySample ClassifyEncoder::encode(const input::Row& row, const fs::path& file) const {
  ClassifySample sample;
  sample.facts.kept = options_.kept.values_of(row);
  sample.facts.reason = row.problem;
  if (sample.facts.reason.empty()) {
    const std::string problem = rows::problem_of([&] {
      fill(sample, row.object);
      fit(sample, row, file);
    });
    if (problem.empty()) return sample;
    sample.facts.reason = problem;
  }
  if (!options_.may_be_bad) rows::refuse_row(file, row, sample.facts.reason, input::kBadRowHelp);
  sample.facts.status = rows::RowStatus::bad_row;
  sample.ids.clear();
  sample.continuations.clear();
  return sample;
}

void ClassifyEncoder::fill(ClassifySample& sample, const JsonValue& row) const {
  const std::string column = rows::name_in_file("text", options_.columns);
  sample.text = rows::text_of(row.find("text"), column.c_str());
  sample.group = shown_member(row, {"group", "target_group_norm", "target_group"});
  sample.persona = shown_member(row, {"persona_tag"});
  sample.source = shown_member(row, {"source_dataset"});
  if (rows::member_of(row, "label") == nullptr) return;
  const ClassifyConfig& config = options_.config;
  const rows::LabelNames labels{config.labels, config.label_values};
  sample.truth = static_cast<std::int32_t>(labels.label_of(row, options_.columns));
}

std::string ClassifyEncoder::prompt_of(const JsonValue& row) const {
  const PromptStrategy& strategy = options_.strategy;
  const std::string user = rows::fill_template(strategy.user_template, row, options_.columns);
  const std::string prefix = options_.config.generates ? "" : strategy.answer_prefix;
  if (!chat_)
    return (strategy.system_prompt.empty() ? "" : strategy.system_prompt + "\n\n") + user + prefix;
  std::vector<text::ChatMessage> messages;
  if (!strategy.system_prompt.empty()) messages.push_back({"system", strategy.system_prompt});
  messages.push_back({"user", user});
  text::ChatOptions chat;
  chat.add_generation_prompt = true;
  chat.special_tokens = folder_.special_tokens;
  std::string prompt = chat_->render(messages, chat);
  if (!options_.config.generates && prompt.ends_with(kHarmonyAnswer)) prompt += kFinalChannel;
  return prompt + prefix;
}

/// Returns the token ids of a text. Special tokens are added unless a chat template already wrote
/// them.
std::vector<std::int64_t> ClassifyEncoder::ids_of(const std::string& text) const {
  const std::vector<text::TokenId> ids = folder_.tokenizer.encode(text, !chat_.has_value());
  return {ids.begin(), ids.end()};
}

/// Sets `ids` and `continuations` of the sample. Returns the number of tokens of the prompt with
/// the longest label. If answers are generated, returns the number of tokens of the prompt alone.
std::int64_t ClassifyEncoder::fill_ids(ClassifySample& sample, const JsonValue& row) const {
  const std::string prompt = prompt_of(row);
  sample.ids = ids_of(prompt);
  sample.continuations.clear();
  if (sample.ids.empty()) throw JsonError("its prompt has no tokens");
  if (options_.config.generates) return std::ssize(sample.ids);
  std::size_t shared = sample.ids.size();
  std::size_t longest = 0;
  std::vector<std::vector<std::int64_t>> whole;
  for (const std::string& label : options_.config.labels) {
    whole.push_back(ids_of(prompt + rows::label_after(prompt, label)));
    shared = std::min({shared, shared_tokens(sample.ids, whole.back()), whole.back().size() - 1});
    longest = std::max(longest, whole.back().size());
  }
  if (shared == 0) throw JsonError("its prompt and a label begin with other tokens than it alone");
  sample.ids.resize(shared);
  for (const std::vector<std::int64_t>& ids : whole)
    sample.continuations.emplace_back(ids.begin() + static_cast<std::ptrdiff_t>(shared), ids.end());
  return static_cast<std::int64_t>(longest);
}

/// Sets `ids` and `continuations` of the sample. A sample with more than `max_length` tokens is
/// handled by data.too_long:
/// - truncate: cuts the text of the row, but not the prompt around this text. If no cut is enough,
///   the row gets the status too_long.
/// - drop: gives the row the status too_long.
/// - error: throws Failure E531.
void ClassifyEncoder::fit(ClassifySample& sample, const input::Row& row,
                          const fs::path& file) const {
  const std::int64_t length = fill_ids(sample, row.object);
  if (length <= options_.max_length) return;
  sample.facts.reason = std::to_string(length) + " tokens, at most " +
                        std::to_string(options_.max_length) + " are allowed";
  if (options_.config.length.too_long == rows::TooLong::error)
    rows::refuse_row(file, row, sample.facts.reason, rows::kTooLongHelp);
  std::size_t good = 0;
  std::size_t bad = sample.text.size();
  if (options_.config.length.too_long == rows::TooLong::truncate) {
    while (bad - good > 1) {
      const std::size_t middle = (good + bad) / 2;
      const bool fits = fill_ids(sample, with_text(row.object, first_bytes(sample.text, middle))) <=
                        options_.max_length;
      (fits ? good : bad) = middle;
    }
  }
  const std::string kept = first_bytes(sample.text, good);
  if (kept.empty()) {
    sample.facts.status = rows::RowStatus::too_long;
    sample.ids.clear();
    sample.continuations.clear();
    return;
  }
  fill_ids(sample, with_text(row.object, kept));
  sample.facts.status = rows::RowStatus::truncated;
}

}  // namespace mgpu::jobs
