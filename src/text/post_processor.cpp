#include "post_processor.hpp"

namespace mgpu::text {
namespace {

std::vector<TokenId> special_ids(const JsonNode& node, std::string_view name) {
  std::vector<TokenId> ids;
  for (const JsonNode& id : node.at("special_tokens").at(name).at("ids").items())
    ids.push_back(static_cast<TokenId>(id.integer(0, kMaxTokenId)));
  return ids;
}

TokenFrame read_template(const JsonNode& node) {
  TokenFrame frame;
  bool past_text = false;
  for (const JsonNode& item : node.at("single").items()) {
    if (const auto sequence = item.find("Sequence")) {
      if (past_text || sequence->at("id").text() != "A")
        sequence->refuse("a template for one text names the text A, once");
      past_text = true;
      continue;
    }
    const std::string_view name = item.at("SpecialToken").at("id").text();
    std::vector<TokenId>& side = past_text ? frame.after : frame.before;
    const std::vector<TokenId> ids = special_ids(node, name);
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (!past_text) node.at("single").refuse("a template for one text names the text A, once");
  return frame;
}

/// Puts the tokens of `outer` around those of `inner`.
void wrap(TokenFrame& inner, const TokenFrame& outer) {
  inner.before.insert(inner.before.begin(), outer.before.begin(), outer.before.end());
  inner.after.insert(inner.after.end(), outer.after.begin(), outer.after.end());
}

}  // namespace

TokenFrame read_post_processor(const JsonNode& node) {
  const JsonNode type = node.at("type");
  const std::string_view name = type.text();
  if (name == "TemplateProcessing") return read_template(node);
  TokenFrame frame;
  if (name == "ByteLevel") return frame;
  if (name != "Sequence")
    type.unknown_choice("post-processor", "Sequence, TemplateProcessing, ByteLevel");
  for (const JsonNode& part : node.at("processors").items())
    wrap(frame, read_post_processor(part));
  return frame;
}

}  // namespace mgpu::text
