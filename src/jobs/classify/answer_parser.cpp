#include "answer_parser.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include <mgpu/formats/json_value.hpp>
#include <mgpu/rows/json_fields.hpp>

namespace mgpu::jobs {
namespace {

constexpr std::string_view kLabelMember = "classification";
constexpr std::string_view kSpaces = " \t\r\n";

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpaces);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpaces) - begin + 1);
}

/// Returns whether a byte is part of a word. Bytes above 127 count as parts of words, because they
/// belong to letters of other alphabets.
bool is_word(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) != 0 || c == '_' || byte >= 0x80;
}

/// Returns the part of `text` from its first character, which must be {, to the matching }. Returns
/// nullopt if the matching } is missing. Braces in JSON strings do not count.
std::optional<std::string_view> object_at(std::string_view text) {
  int depth = 0;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_quoted) {
      if (c == '\\') ++i;
      if (c == '"') is_quoted = false;
      continue;
    }
    if (c == '"') is_quoted = true;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) return text.substr(0, i + 1);
  }
  return std::nullopt;
}

/// Returns the first JSON object in the text whose member `classification` is not null. Returns
/// nullopt if there is no such object.
std::optional<formats::JsonValue> find_object(std::string_view text) {
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at + 1)) {
    const auto object = object_at(text.substr(at));
    if (!object) continue;
    try {
      formats::JsonValue value = formats::parse_json_object(*object);
      if (rows::member_of(value, kLabelMember.data()) != nullptr) return value;
    } catch (const formats::JsonError&) {
      continue;  // these braces do not enclose JSON
    }
  }
  return std::nullopt;
}

/// Returns the string after `"classification":` in a text. Returns nullopt if the text lacks this
/// member, or if the value of the member is not a complete string. The JSON object that contains
/// this member may be cut short.
std::optional<std::string_view> find_cut_member(std::string_view text) {
  const std::string name = '"' + std::string(kLabelMember) + '"';
  std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  for (const char expected : {':', '"'}) {
    at = text.find_first_not_of(kSpaces, expected == ':' ? at + name.size() : at + 1);
    if (at == std::string_view::npos || text[at] != expected) return std::nullopt;
  }
  const std::size_t end = text.find('"', at + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(at + 1, end - at - 1);
}

std::string rationale_of(const formats::JsonValue& object) {
  const formats::JsonValue* rationale = rows::member_of(object, "rationale");
  return rationale == nullptr || rationale->text() == nullptr ? "" : *rationale->text();
}

}  // namespace

AnswerParser::AnswerParser(std::vector<std::string> labels) : labels_(std::move(labels)) {
  for (std::string& label : labels_)
    label = lower(label);
}

std::int32_t AnswerParser::label_of(std::string_view value) const {
  const auto found = std::ranges::find(labels_, lower(trimmed(value)));
  return found == labels_.end() ? label_in(value)
                                : static_cast<std::int32_t>(found - labels_.begin());
}

/// Returns the index of the only label that occurs in the text as a whole word. Returns -1 if no
/// label or more than one label occurs. If several labels begin at the same position, only the
/// longest label counts. A label inside a longer label does not count.
std::int32_t AnswerParser::label_in(std::string_view text) const {
  const std::string words = lower(text);
  std::int32_t found = -1;
  for (std::size_t at = 0; at < words.size();) {
    std::size_t longest = 0;
    std::int32_t here = -1;
    for (std::size_t l = 0; l < labels_.size(); ++l) {
      const std::size_t end = at + labels_[l].size();
      const bool is_here = words.compare(at, labels_[l].size(), labels_[l]) == 0 &&
                           (at == 0 || !is_word(words[at - 1])) &&
                           (end >= words.size() || !is_word(words[end]));
      if (!is_here || labels_[l].size() <= longest) continue;
      longest = labels_[l].size();
      here = static_cast<std::int32_t>(l);
    }
    if (here >= 0 && found >= 0 && here != found) return -1;
    if (here >= 0) found = here;
    at += std::max<std::size_t>(1, longest);
  }
  return found;
}

ParsedAnswer AnswerParser::parse(std::string_view text) const {
  if (const auto object = find_object(text)) {
    const std::string* value = rows::member_of(*object, kLabelMember.data())->text();
    return {value == nullptr ? -1 : label_of(*value), rationale_of(*object)};
  }
  if (const auto value = find_cut_member(text)) return {label_of(*value), ""};
  return {label_in(text), std::string(trimmed(text))};
}

std::span<const std::int64_t> final_channel(std::span<const std::int64_t> ids,
                                            const text::Tokenizer& tokenizer) {
  const std::int64_t channel = tokenizer.token_id("<|channel|>");
  const std::int64_t message = tokenizer.token_id("<|message|>");
  if (channel < 0 || message < 0) return ids;
  const auto is_end = [&](std::int64_t id) {
    for (const char* name : {"<|end|>", "<|return|>", "<|call|>", "<|start|>", "<|channel|>"})
      if (id == tokenizer.token_id(name)) return true;
    return false;
  };
  const auto begin_of_all = std::ranges::find(ids, channel);
  if (begin_of_all == ids.end()) return ids;
  for (auto at = begin_of_all; at != ids.end(); at = std::find(at, ids.end(), channel)) {
    const auto name_end = std::find(++at, ids.end(), message);
    if (name_end == ids.end()) break;
    const std::vector<text::TokenId> name(at, name_end);
    const auto end = std::find_if(name_end + 1, ids.end(), is_end);
    if (trimmed(tokenizer.decode(name, true)) == "final") return {name_end + 1, end};
    at = end;
  }
  return {};
}

}  // namespace mgpu::jobs
