#include <mgpu/text/text_folder.hpp>

#include "sentence_pieces.hpp"
#include "special_tokens.hpp"
#include "tokenizer_parts.hpp"

namespace mgpu::text {
namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 28;
constexpr const char* kDefaultTemplate = "default";
constexpr const char* kTokenizer = "tokenizer.json";
constexpr const char* kPieces = "tokenizer.model";  // used if the folder has no tokenizer.json

std::string read_if_there(const fs::path& file) {
  return fs::exists(file) ? read_file(file, kMaxFileBytes) : "";
}

/// Returns the content of chat_template.jinja; nullopt if the file is missing or empty.
std::optional<std::string> read_own_template(const fs::path& folder) {
  std::string jinja = read_if_there(folder / "chat_template.jinja");
  if (jinja.empty()) return std::nullopt;
  return jinja;
}

/// Parses the content of a file. If `content` is empty, because the file is missing, returns an
/// empty object.
JsonFile parse_file(const fs::path& folder, const char* name, const std::string& content) {
  return {folder / name, content.empty() ? std::string_view("{}") : content};
}

/// Refuses settings in tokenizer_config.json that would change ids or texts and are not supported.
void refuse_settings(const JsonNode& settings) {
  for (const char* key :
       {"split_special_tokens", "fix_mistral_regex", "fast_tokenizer_files",
        "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"}) {
    const auto value = settings.find(key);
    if (!value) continue;
    bool on = true;
    if (value->value().get(on) != simdjson::SUCCESS || on) value->not_supported(key);
  }
}

/// Returns the tokens that a tokenizer class puts around a text, instead of the tokens that
/// tokenizer.json names. If `has_pieces` is true, the folder has a tokenizer.model instead of a
/// tokenizer.json, and add_bos_token and add_eos_token in `settings` determine the tokens.
/// Otherwise `settings` are not used.
TokenFrame own_frame(TokenizerClass kind, const JsonNode& settings, bool has_pieces,
                     const SpecialTokens& special, const TokenizerParts& parts) {
  const auto ids_of = [&](const char* role) -> std::vector<TokenId> {
    const std::string& text = special.text(role);
    if (text.empty()) return {};
    const TokenId added = parts.added.find(text);
    return {added == kNoToken ? parts.model.vocabulary().find(text) : added};
  };
  const bool standard = kind == TokenizerClass::code_llama;
  const bool adds_bos = has_pieces ? settings.flag("add_bos_token", standard) : standard;
  const bool adds_eos = has_pieces && settings.flag("add_eos_token", false);
  TokenFrame frame;
  if (adds_bos) frame.before = ids_of("bos_token");
  if (adds_eos) frame.after = ids_of("eos_token");
  return frame;
}

Tokenizer make_tokenizer(const JsonNode& file, const JsonNode& settings, TokenizerClass kind,
                         const SpecialTokens& special, bool has_pieces) {
  const bool as_file = kind == TokenizerClass::as_file;
  std::vector<AddedToken> tokens;
  if (as_file) tokens = read_added_tokens(file);
  const std::vector<AddedToken> more = special.additions(tokens);
  tokens.insert(tokens.end(), more.begin(), more.end());
  if (as_file) return TokenizerAccess::make(std::make_shared<TokenizerParts>(file, file, tokens));
  if (kind == TokenizerClass::qwen2) {  // the class adds special tokens again, with default flags
    for (const std::string& text : special.texts())
      tokens.push_back({.content = text, .special = true});
  }
  const JsonFile parts("the tokenizer class", own_parts(kind, settings, special.text("unk_token")));
  const auto made = std::make_shared<TokenizerParts>(file, parts.root(), tokens);
  if (has_own_frame(kind) || has_pieces)
    made->frame = own_frame(kind, settings, has_pieces, special, *made);
  if (kind == TokenizerClass::code_llama) made->gap = special.text("fill_token");
  return TokenizerAccess::make(made);
}

/// Appends `eos_token_id` of a file, an id or a list of ids, to `ids`. Returns false if this member
/// is absent or null.
bool read_stop_ids(const JsonNode& node, std::vector<TokenId>& ids) {
  const auto value = node.find("eos_token_id");
  if (!value) return false;
  const auto add = [&](const JsonNode& id) {
    ids.push_back(static_cast<TokenId>(id.integer(0, kMaxTokenId)));
  };
  if (!value->is_list()) {
    add(*value);
    return true;
  }
  for (const JsonNode& id : value->items())
    add(id);
  return true;
}

/// Returns `chat_template` of tokenizer_config.json; "" if this member is absent or null. If the
/// member is a list of templates, returns the template with the name `default`.
/// Errors: Failure E541 (malformed), E542 (the list has no template with that name)
std::string read_chat_template(const JsonNode& settings) {
  const auto node = settings.find("chat_template");
  if (!node) return "";
  if (!node->is_list()) return std::string(node->text());
  for (const JsonNode& item : node->items())
    if (item.at("name").text() == kDefaultTemplate) return std::string(item.at("template").text());
  node->not_supported("a list of chat templates without one that is called default");
}

}  // namespace

bool has_tokenizer(const fs::path& folder) {
  std::error_code missing;
  if (fs::exists(folder / kTokenizer, missing)) return true;
  if (!fs::exists(folder / kPieces, missing)) return false;
  const std::string settings = read_if_there(folder / "tokenizer_config.json");
  const std::string config = read_if_there(folder / "config.json");
  try {
    return reads_pieces(
        choose_tokenizer_class(parse_file(folder, "tokenizer_config.json", settings).root(),
                               parse_file(folder, "config.json", config).root(), ""));
  } catch (const Failure&) {
    return false;  // an unsupported class or a malformed file; the model can be used with token ids
  }
}

TextFiles read_text_files(const fs::path& folder) {
  const bool has_pieces = !fs::exists(folder / kTokenizer) && fs::exists(folder / kPieces);
  return {.tokenizer = has_pieces ? "" : read_file(folder / kTokenizer, kMaxFileBytes),
          .sentence_pieces = has_pieces ? read_file(folder / kPieces, kMaxFileBytes) : "",
          .tokenizer_config = read_if_there(folder / "tokenizer_config.json"),
          .special_tokens_map = read_if_there(folder / "special_tokens_map.json"),
          .added_tokens = read_if_there(folder / "added_tokens.json"),
          .config = read_if_there(folder / "config.json"),
          .generation_config = read_if_there(folder / "generation_config.json"),
          .chat_template = read_own_template(folder)};
}

std::map<std::string, std::string> read_chat_templates(const fs::path& folder) {
  std::map<std::string, std::string> templates;
  const std::string settings = read_if_there(folder / "tokenizer_config.json");
  const auto file = parse_file(folder, "tokenizer_config.json", settings);
  if (const auto node = file.root().find("chat_template"); node && node->is_list()) {
    for (const JsonNode& item : node->items())
      templates[std::string(item.at("name").text())] = item.at("template").text();
  } else if (node) {
    templates[kDefaultTemplate] = node->text();
  }
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder / "additional_chat_templates", missing))
    if (entry.path().extension() == ".jinja")
      templates[entry.path().stem().string()] = read_file(entry.path(), kMaxFileBytes);
  if (const auto own = read_own_template(folder)) templates[kDefaultTemplate] = *own;
  return templates;
}

TextFolder parse_text_folder(const TextFiles& files, const fs::path& folder) {
  const SentencePieces pieces = files.sentence_pieces.empty()
                                    ? SentencePieces{}
                                    : read_sentence_pieces(files.sentence_pieces, folder / kPieces);
  const bool has_pieces = !pieces.tokenizer.empty();
  const JsonFile tokenizer(folder / (has_pieces ? kPieces : kTokenizer),
                           has_pieces ? pieces.tokenizer : files.tokenizer);
  const auto settings = parse_file(folder, "tokenizer_config.json", files.tokenizer_config);
  const auto map = parse_file(folder, "special_tokens_map.json", files.special_tokens_map);
  const auto added = parse_file(folder, "added_tokens.json", files.added_tokens);
  const auto model = parse_file(folder, "config.json", files.config);
  const auto generation = parse_file(folder, "generation_config.json", files.generation_config);
  refuse_settings(settings.root());
  const TokenizerClass kind =
      choose_tokenizer_class(settings.root(), model.root(), files.tokenizer);
  if (has_pieces && !reads_pieces(kind))
    tokenizer.root().not_supported("this tokenizer class without tokenizer.json");
  const SpecialTokens special({tokenizer.root(), settings.root(), map.root(), added.root()}, kind,
                              has_pieces ? &pieces.tokens : nullptr);

  TextFolder text{make_tokenizer(tokenizer.root(), settings.root(), kind, special, has_pieces),
                  {},
                  {},
                  {},
                  {},
                  {},
                  {},
                  special.by_role()};
  const auto token_for = [&](std::string_view role) {
    const std::string& name = special.text(role);
    return SpecialToken{name, name.empty() ? kNoToken : text.tokenizer.token_id(name)};
  };
  text.bos = token_for("bos_token");
  text.eos = token_for("eos_token");
  text.pad = token_for("pad_token");
  text.unk = token_for("unk_token");
  if (!read_stop_ids(generation.root(), text.stop_ids) &&
      !read_stop_ids(model.root(), text.stop_ids) && text.eos.id != kNoToken)
    text.stop_ids = {text.eos.id};
  text.chat_template =
      files.chat_template ? *files.chat_template : read_chat_template(settings.root());
  return text;
}

}  // namespace mgpu::text
