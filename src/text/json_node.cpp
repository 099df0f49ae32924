#include "json_node.hpp"

#include <algorithm>

#include <mgpu/base/lfs_pointer.hpp>
#include <mgpu/base/utf8.hpp>

namespace mgpu::text {
namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 28;
constexpr std::size_t kMaxDepth = 64;

/// Returns the JSON text with the exponent e0 after each integer of more than 18 characters. The
/// exponent makes simdjson read these numbers as real numbers. Without the exponent, simdjson would
/// refuse integers of 2^64 and more, such as the `model_max_length` of 10^30 in files of
/// transformers.
std::string with_real_numbers(std::string_view text) {
  constexpr std::size_t kMaxDigits = 18;
  std::string result;
  bool is_string = false;
  for (std::size_t i = 0; i < text.size();) {
    const bool is_number = !is_string && ((text[i] >= '0' && text[i] <= '9') || text[i] == '-');
    if (is_number) {
      const std::size_t end = std::min(text.find_first_not_of("0123456789+-.eE", i), text.size());
      const std::string_view number = text.substr(i, end - i);
      result += number;
      if (number.size() > kMaxDigits && number.find_first_of(".eE") == number.npos) result += "e0";
      i = end;
      continue;
    }
    if (text[i] == '"') is_string = !is_string;
    if (is_string && text[i] == '\\' && i + 1 < text.size()) result += text[i++];
    result += text[i++];
  }
  return result;
}

ErrorReport report_at(const JsonNode& node, std::string_view code, std::string sentence) {
  const std::string place = node.place().empty() ? "" : ": " + printable(node.place());
  return {std::string(code),
          ExitCode::data,
          std::move(sentence),
          {"  --> " + node.file().string() + place},
          ""};
}

}  // namespace

void JsonNode::refuse(std::string_view why) const {
  throw Failure(report_at(*this, "E541", "malformed tokenizer file: " + std::string(why)));
}

void JsonNode::not_supported(std::string_view what, std::string_view help) const {
  ErrorReport report = report_at(*this, "E542", printable(what) + " is not supported");
  report.help = help;
  throw Failure(std::move(report));
}

void JsonNode::unknown_choice(std::string_view kind, std::string_view known) const {
  not_supported(std::string(kind) + " `" + std::string(text()) + "`",
                "supported: " + std::string(known));
}

std::optional<JsonNode> JsonNode::find(std::string_view key) const {
  simdjson::dom::object members;
  if (value_.get(members) != simdjson::SUCCESS) refuse("an object is needed");
  simdjson::dom::element member;
  if (members.at_key(key).get(member) != simdjson::SUCCESS || member.is_null()) return {};
  return JsonNode(*file_, member, place_of(key));
}

bool JsonNode::has(std::string_view key) const {
  simdjson::dom::object members;
  if (value_.get(members) != simdjson::SUCCESS) refuse("an object is needed");
  return members.at_key(key).error() == simdjson::SUCCESS;
}

std::string JsonNode::place_of(std::string_view key) const {
  return (place_.empty() ? "" : place_ + ".") + std::string(key);
}

JsonNode JsonNode::at(std::string_view key) const {
  std::optional<JsonNode> member = find(key);
  if (!member) refuse("`" + std::string(key) + "` is missing");
  return *std::move(member);
}

std::vector<JsonNode> JsonNode::items() const {
  simdjson::dom::array list;
  if (value_.get(list) != simdjson::SUCCESS) refuse("a list is needed");
  std::vector<JsonNode> nodes;
  for (const simdjson::dom::element item : list)
    nodes.emplace_back(*file_, item, place_ + "[" + std::to_string(nodes.size()) + "]");
  return nodes;
}

std::vector<std::pair<std::string_view, JsonNode>> JsonNode::members() const {
  simdjson::dom::object object;
  if (value_.get(object) != simdjson::SUCCESS) refuse("an object is needed");
  std::vector<std::pair<std::string_view, JsonNode>> members;
  for (const auto [key, value] : object)
    if (!value.is_null()) members.emplace_back(key, JsonNode(*file_, value, place_of(key)));
  return members;
}

std::string_view JsonNode::text() const {
  std::string_view text;
  if (value_.get(text) != simdjson::SUCCESS) refuse("a text is needed");
  return text;
}

bool JsonNode::flag() const {
  bool flag = false;
  if (value_.get(flag) != simdjson::SUCCESS) refuse("true or false is needed");
  return flag;
}

std::int64_t JsonNode::integer(std::int64_t min, std::int64_t max) const {
  std::int64_t integer = 0;
  if (value_.get(integer) != simdjson::SUCCESS || integer < min || integer > max) {
    refuse("a whole number from " + std::to_string(min) + " to " + std::to_string(max) +
           " is needed");
  }
  return integer;
}

bool JsonNode::flag(std::string_view key, bool standard) const {
  const std::optional<JsonNode> member = find(key);
  return member ? member->flag() : standard;
}

JsonFile::JsonFile(fs::path path) : path_(std::move(path)) {
  parse(read_file(path_, kMaxFileBytes));
}

JsonFile::JsonFile(fs::path name, std::string_view text) : path_(std::move(name)) {
  parse(text);
}

void JsonFile::parse(std::string_view text) {
  refuse_lfs_pointer(path_, text);
  simdjson::error_code error = parser_.allocate(text.size(), kMaxDepth);
  if (error == simdjson::SUCCESS) error = parser_.parse(text.data(), text.size()).get(root_);
  if (error == simdjson::NUMBER_ERROR) {
    const std::string real = with_real_numbers(text);
    error = parser_.allocate(real.size(), kMaxDepth);
    if (error == simdjson::SUCCESS) error = parser_.parse(real.data(), real.size()).get(root_);
  }
  if (error != simdjson::SUCCESS) root().refuse(simdjson::error_message(error));
}

}  // namespace mgpu::text
