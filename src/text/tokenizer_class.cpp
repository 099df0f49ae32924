#include "tokenizer_class.hpp"

#include <algorithm>
#include <array>

#include "json_quoted.hpp"

namespace mgpu::text {
namespace {

struct KnownClass {
  std::string_view name;
  TokenizerClass kind;
};

constexpr std::array kClasses = {
    KnownClass{"TokenizersBackend", TokenizerClass::as_file},
    KnownClass{"PreTrainedTokenizer", TokenizerClass::as_file},
    KnownClass{"LlamaTokenizer", TokenizerClass::llama},
    KnownClass{"CodeLlamaTokenizer", TokenizerClass::code_llama},
    KnownClass{"GPT2Tokenizer", TokenizerClass::gpt2},
    KnownClass{"GPTNeoXTokenizer", TokenizerClass::gpt_neox},
    KnownClass{"Qwen2Tokenizer", TokenizerClass::qwen2},
};

// These texts have placeholders. In kLlamaParts, `@` stands for the prepend scheme, `#` for the
// decoder that removes the prepended space, and `~` for the unknown token. In kGpt2Parts and
// kQwen2Parts, `@` stands for the value of add_prefix_space. In kGpt2Parts, `#` stands for a
// normalizer.
constexpr std::string_view kLlamaParts = R"({
  "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "@",
                    "split": false},
  "decoder": {"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
    {"type": "ByteFallback"}, {"type": "Fuse"}#]},
  "model": {"type": "BPE", "byte_fallback": true, "fuse_unk": true~}})";
constexpr std::string_view kStrip = R"(, {"type": "Strip", "content": " ", "start": 1, "stop": 0})";
constexpr std::string_view kNeoxNormalizer = R"("normalizer": {"type": "NFC"},)";
constexpr std::string_view kGpt2Parts = R"({#
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": @, "trim_offsets": true,
                    "use_regex": true},
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
              "use_regex": true},
  "model": {"type": "BPE"}})";
constexpr std::string_view kQwen2Parts = R"({
  "normalizer": {"type": "NFC"},
  "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "behavior": "Isolated", "invert": false, "pattern": {"Regex":
     "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
    {"type": "ByteLevel", "add_prefix_space": @, "trim_offsets": true, "use_regex": false}]},
  "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
              "use_regex": true},
  "model": {"type": "BPE"}})";

// The roles and tokens with which prompts ask CodeLlama to fill a gap in a text.
constexpr std::array<std::string_view, 5> kGapRoles = {"prefix_token", "middle_token",
                                                       "suffix_token", "eot_token", "fill_token"};
constexpr std::array<std::string_view, 5> kGapTokens = {"▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>",
                                                        "<FILL_ME>"};

std::string fill(std::string_view parts, char place, std::string_view value) {
  std::string filled(parts);
  return filled.replace(filled.find(place), 1, value);
}

std::string code_llama_parts(const JsonNode& settings, std::string_view unknown) {
  const bool prefix = settings.flag("add_prefix_space", true);
  // If there is no unknown token, the class uses the text "None", from None of Python.
  const std::string name = json_quoted(unknown.empty() ? "None" : unknown);
  const std::string parts = fill(fill(kLlamaParts, '#', kStrip), '~', ", \"unk_token\": " + name);
  return fill(parts, '@', prefix ? "first" : "never");
}

std::string llama_parts(const JsonNode& settings) {
  const bool prefix = settings.flag("add_prefix_space", true);
  const std::string parts = fill(fill(kLlamaParts, '#', prefix ? kStrip : ""), '~', "");
  if (!prefix) return fill(parts, '@', "never");
  return fill(parts, '@', settings.flag("legacy", false) ? "always" : "first");
}

std::string_view text_or_empty(const JsonNode& node, std::string_view key) {
  const auto member = node.find(key);
  return member ? member->text() : std::string_view();
}

TokenizerClass known_class(const JsonNode& node) {
  std::string_view name = node.text();
  if (name == "PreTrainedTokenizerFast") return TokenizerClass::as_file;
  if (name.ends_with("Fast")) name.remove_suffix(4);
  const auto found = std::ranges::find(kClasses, name, &KnownClass::name);
  if (found == kClasses.end()) {
    node.unknown_choice("tokenizer class",
                        "PreTrainedTokenizerFast, TokenizersBackend, LlamaTokenizer, "
                        "CodeLlamaTokenizer, GPT2Tokenizer, GPTNeoXTokenizer, Qwen2Tokenizer");
  }
  return found->kind;
}

/// The default tokenizer class of each model type; "" means that config.json has no model_type.
constexpr std::array kModelTypes = {
    KnownClass{"", TokenizerClass::as_file},        KnownClass{"gpt2", TokenizerClass::gpt2},
    KnownClass{"llama", TokenizerClass::as_file},   KnownClass{"mistral", TokenizerClass::as_file},
    KnownClass{"qwen2", TokenizerClass::qwen2},     KnownClass{"qwen3", TokenizerClass::qwen2},
    KnownClass{"qwen3_moe", TokenizerClass::qwen2}, KnownClass{"gpt_oss", TokenizerClass::as_file},
};

TokenizerClass class_of_model(const JsonNode& model, std::string_view model_type) {
  const auto found = std::ranges::find(kModelTypes, model_type, &KnownClass::name);
  if (found == kModelTypes.end()) {
    model.at("model_type")
        .unknown_choice("the tokenizer of model type",
                        "gpt2, llama, mistral, qwen2, qwen3, qwen3_moe, gpt_oss");
  }
  return found->kind;
}

}  // namespace

TokenizerClass choose_tokenizer_class(const JsonNode& settings, const JsonNode& model,
                                      std::string_view file) {
  if (const auto code = settings.find("auto_map"))
    code->not_supported("a tokenizer with custom code");
  const std::string_view model_type = text_or_empty(model, "model_type");
  const TokenizerClass standard = class_of_model(model, model_type);
  if (model_type == "mistral" || model_type == "qwen2")
    return standard;  // transformers ignores `tokenizer_class` for these types
  auto name = settings.find("tokenizer_class");
  if (!name) name = model.find("tokenizer_class");
  if (!name) return standard;
  const TokenizerClass kind = known_class(*name);
  // Folders of Llama 3 name the class of Llama 2, which cannot read the byte-level vocabulary of
  // Llama 3.
  if (kind == TokenizerClass::llama && file.find("\"ByteLevel\"") != file.npos)
    return TokenizerClass::as_file;
  return kind;
}

std::string own_parts(TokenizerClass kind, const JsonNode& settings, std::string_view unknown) {
  const auto byte_level = [&](const std::string& parts) {
    return fill(parts, '@', settings.flag("add_prefix_space", false) ? "true" : "false");
  };
  switch (kind) {
    case TokenizerClass::llama:
      return llama_parts(settings);
    case TokenizerClass::code_llama:
      return code_llama_parts(settings, unknown);
    case TokenizerClass::gpt2:
      return byte_level(fill(kGpt2Parts, '#', ""));
    case TokenizerClass::gpt_neox:
      return byte_level(fill(kGpt2Parts, '#', kNeoxNormalizer));
    case TokenizerClass::qwen2:
      return byte_level(std::string(kQwen2Parts));
    case TokenizerClass::as_file:
      break;
  }
  return "";
}

std::string_view standard_token(TokenizerClass kind, std::string_view role) {
  constexpr std::string_view kEnd = "<|endoftext|>";
  const bool is_bos = role == "bos_token", is_eos = role == "eos_token",
             is_unk = role == "unk_token";
  switch (kind) {
    case TokenizerClass::code_llama:
      for (std::size_t i = 0; i < kGapRoles.size(); ++i)
        if (role == kGapRoles[i]) return kGapTokens[i];
      [[fallthrough]];
    case TokenizerClass::llama:
      return is_bos ? "<s>" : is_eos ? "</s>" : is_unk ? "<unk>" : "";
    case TokenizerClass::gpt_neox:
      if (role == "pad_token") return "<|padding|>";
      [[fallthrough]];
    case TokenizerClass::gpt2:
      return is_bos || is_eos || is_unk ? kEnd : "";
    case TokenizerClass::qwen2:
      return is_eos || is_unk || role == "pad_token" ? kEnd : "";
    case TokenizerClass::as_file:
      break;
  }
  return "";
}

std::span<const std::string_view> own_roles(TokenizerClass kind) {
  if (kind == TokenizerClass::code_llama) return kGapRoles;
  return {};
}

bool reads_pieces(TokenizerClass kind) {
  return kind == TokenizerClass::llama || kind == TokenizerClass::code_llama;
}

bool has_own_frame(TokenizerClass kind) {
  return kind == TokenizerClass::code_llama || kind == TokenizerClass::gpt_neox;
}

}  // namespace mgpu::text
