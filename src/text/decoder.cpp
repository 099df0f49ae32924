#include "decoder.hpp"

#include <mgpu/base/utf8.hpp>

#include "decode_stages.hpp"

namespace mgpu::text {
namespace {

constexpr std::int64_t kMaxStrip = 1 << 20;

}  // namespace

Decoder::Decoder(const std::optional<JsonNode>& node) {
  bool joined = false;
  if (node) {
    read(*node, joined);
  } else {
    stages_.emplace_back(join_by_spaces);
  }
}

void Decoder::read(const JsonNode& node, bool& joined) {
  const JsonNode type = node.at("type");
  const std::string_view name = type.text();
  if (joined && name.starts_with("Byte"))
    type.not_supported("decoder `" + std::string(name) + "` after one that joins the tokens");
  if (name == "Sequence") {
    for (const JsonNode& part : node.at("decoders").items())
      read(part, joined);
  } else if (name == "ByteLevel") {
    stages_.emplace_back(decode_byte_level);
    joined = true;
  } else if (name == "ByteFallback") {
    stages_.emplace_back(decode_byte_fallback);
  } else if (name == "Fuse") {
    joined = true;  // needs no stage, because the text is unchanged
  } else if (name == "Metaspace") {
    const MetaspaceOptions options = read_metaspace(node);
    stages_.emplace_back([options, joined] { return decode_metaspace(options, joined); });
  } else if (name == "Replace") {
    const std::shared_ptr<const Pattern> pattern = make_pattern(node.at("pattern"));
    const std::string content(node.at("content").text());
    stages_.emplace_back(
        [pattern, content, joined] { return decode_replace(pattern, content, joined); });
  } else if (name == "Strip") {
    const std::string content(node.at("content").text());
    if (utf8_length(content) != 1) node.at("content").refuse("one character is needed");
    const auto count = [&](std::string_view key) {
      return static_cast<std::size_t>(node.at(key).integer(0, kMaxStrip));
    };
    const std::size_t start = count("start");
    const std::size_t stop = count("stop");
    stages_.emplace_back(
        [content, start, stop, joined] { return decode_strip(content, start, stop, joined); });
  } else {
    type.unknown_choice("decoder",
                        "Sequence, ByteLevel, ByteFallback, Fuse, Metaspace, Replace, Strip");
  }
}

std::vector<std::unique_ptr<DecodeStage>> Decoder::start() const {
  std::vector<std::unique_ptr<DecodeStage>> stages;
  for (const MakeStage& make : stages_)
    stages.push_back(make());
  return stages;
}

void DecodeChain::add(std::string_view token, std::string& text) {
  pass(0, token, text);
}

void DecodeChain::pass(std::size_t stage, std::string_view token, std::string& text) {
  if (stage == stages_.size()) {
    text += token;
    return;
  }
  stages_[stage]->add(token, [&](std::string_view next) { pass(stage + 1, next, text); });
}

void DecodeChain::finish(std::string& text) {
  for (std::size_t i = 0; i < stages_.size(); ++i)
    stages_[i]->finish([&](std::string_view next) { pass(i + 1, next, text); });
}

}  // namespace mgpu::text
