#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/utf8.hpp>
#include <mgpu/formats/weight_files.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/tokenizer_files.hpp>
#include <mgpu/store/run_dir/repro.hpp>
#include <mgpu/text/chat_template.hpp>

namespace mgpu::rows {
namespace {

using text::TextFiles;

constexpr std::uint64_t kMaxTemplateBytes = std::uint64_t{16} << 20;

// A command that converts the tokenizer of a folder, and writes tokenizer.json and related files
// into that folder. The caller appends the path of the folder.
constexpr const char* kConvertCommand =
    "pip install transformers sentencepiece protobuf tiktoken && python3 -c 'import sys, "
    "transformers as t; t.AutoTokenizer.from_pretrained(sys.argv[1])"
    ".save_pretrained(sys.argv[1])' ";

// Names of tokenizer files in other formats, which transformers can convert to tokenizer.json.
constexpr std::array kOtherForms = {"tokenizer.model", "vocab.json", "tekken.json",
                                    "tiktoken.model"};

constexpr std::string_view kFileEnding = ".jinja";

constexpr std::array kTextFiles = {&TextFiles::tokenizer,        &TextFiles::sentence_pieces,
                                   &TextFiles::tokenizer_config, &TextFiles::special_tokens_map,
                                   &TextFiles::added_tokens,     &TextFiles::config,
                                   &TextFiles::generation_config};

[[noreturn]] void refuse_absent(const std::string& name, const std::filesystem::path& folder,
                                const std::map<std::string, std::string>& templates) {
  std::string names;
  for (const auto& [other, jinja] : templates) {
    if (!names.empty()) names += ", ";
    names.append("`").append(printable(other)).append("`");
  }
  if (names.empty()) names = "none";
  throw Failure({"E603",
                 ExitCode::no_input,
                 "the model's folder has no chat template of the name of `data.chat_template`",
                 {"  --> " + name, "  " + folder.string() + " has " + names},
                 "data.chat_template=./" + name + " for a file"});
}

bool is_file(const std::string& choice) {
  return choice.find('/') != std::string::npos || choice.ends_with(kFileEnding);
}

/// Returns the chosen chat template. It is the content of the file `choice` if is_file(choice),
/// otherwise the template with the name `choice` in `folder`.
std::string chosen_template(const std::string& choice, const std::filesystem::path& folder) {
  std::string jinja;
  if (!is_file(choice)) {
    const auto templates = text::read_chat_templates(folder);
    const auto found = templates.find(choice);
    if (found == templates.end()) refuse_absent(choice, folder, templates);
    jinja = found->second;
  } else {
    jinja = read_file(choice, kMaxTemplateBytes);
  }
  if (!jinja.empty() && find_bad_utf8(jinja) == std::string::npos) return jinja;
  throw Failure({"E544",
                 ExitCode::data,
                 jinja.empty() ? "the chat template is empty" : "the chat template is not UTF-8",
                 {"  --> " + choice},
                 "data.chat_template=none where messages need none"});
}

/// Broadcasts `files` from rank 0 to every rank.
/// Ranks: collective over `world`.
void share(const cluster::Group& world, std::optional<TextFiles>& files) {
  if (world.broadcast(files ? "yes" : "no", 0) != "yes") return;
  if (!files) files.emplace();
  for (const auto member : kTextFiles)
    (*files).*member = world.broadcast(std::move((*files).*member), 0);
  const bool has_template = world.broadcast(files->chat_template ? "yes" : "no", 0) == "yes";
  if (!has_template) return;
  files->chat_template = world.broadcast(files->chat_template.value_or(""), 0);
}

}  // namespace

void add_chat_template_key(KeyTable& table) {
  table.add({.name = "data.chat_template",
             .type = KeyType::path,
             .default_value = "auto",
             .summary =
                 "chat template for `messages` and for prompts that a job writes: FILE.jinja, "
                 "./FILE, or a template's name in the folder; auto is the folder's own template, "
                 "none is no template",
             .choices = {"auto", "none"},
             .file_ending = std::string(kFileEnding)});
}

ChatChoice read_chat_choice(const Config& config) {
  if (config.is("data.chat_template", "auto")) return {};
  if (config.is("data.chat_template", "none")) return {.is_none = true};
  return {.chosen = config.text("data.chat_template")};
}

std::optional<TextFiles> read_tokenizer_files(const std::filesystem::path& folder,
                                              const ChatChoice& chat) {
  if (!text::has_tokenizer(folder)) return std::nullopt;
  TextFiles files = text::read_text_files(folder);
  if (chat.is_none) files.chat_template = "";
  if (!chat.chosen.empty()) files.chat_template = chosen_template(chat.chosen, folder);
  return files;
}

void check_chat_template(const Config& config, const std::filesystem::path& folder,
                         const ChatChoice& chat) {
  if (chat.chosen.empty()) return;
  if (is_file(chat.chosen) && !std::filesystem::exists(chat.chosen)) {
    throw ConfigFailure(
        {{"E603", "there is no such file: " + chat.chosen, config.place("data.chat_template"), "",
          "a template of the model's folder is chosen by its name alone"}},
        ExitCode::no_input);
  }
  try {
    text::ChatTemplate{chosen_template(chat.chosen, folder)};
  } catch (const Failure& failure) {
    ErrorReport report = failure.report();
    if (report.code != "E544" || report.lines.front().starts_with("  -->")) throw;
    report.lines.insert(report.lines.begin(), "  --> " + chat.chosen);
    throw Failure(std::move(report));
  }
}

FolderTokenizer read_folder_tokenizer(const std::filesystem::path& folder, const ChatChoice& chat,
                                      lm::ResidentModels* models) {
  const bool has_weights = formats::has_weight_files(folder);
  return {read_tokenizer_files(folder, chat), has_weights ? model_fingerprint(folder, models) : 0};
}

std::optional<TextFiles> read_shared_tokenizer_files(const cluster::Group& world,
                                                     const std::filesystem::path& folder,
                                                     const ChatChoice& chat) {
  std::optional<TextFiles> files;
  cluster::run_together(world, [&] {
    if (world.rank() == 0) files = read_tokenizer_files(folder, chat);
  });
  share(world, files);
  return files;
}

FolderTokenizer read_folder_tokenizer(const cluster::Group& world,
                                      const std::filesystem::path& folder, const ChatChoice& chat,
                                      lm::ResidentModels* models) {
  FolderTokenizer text;
  cluster::run_together(world, [&] {
    if (world.rank() != 0) return;
    text = {read_tokenizer_files(folder, chat), model_fingerprint(folder, models)};
  });
  share(world, text.files);
  world.broadcast(std::span(&text.fingerprint, 1), 0);
  return text;
}

std::uint32_t chat_crc(const std::optional<TextFiles>& files) {
  if (!files || !files->chat_template) return 0;
  return crc32c(*files->chat_template, 1);
}

std::optional<text::TextFolder> parse_tokenizer_files(const std::optional<TextFiles>& files,
                                                      const std::filesystem::path& folder,
                                                      std::int64_t vocab) {
  if (!files) return std::nullopt;
  text::TextFolder parsed = text::parse_text_folder(*files, folder);
  const std::size_t tokens = parsed.tokenizer.vocab_size();
  if (std::cmp_less_equal(tokens, vocab)) return parsed;
  throw Failure({"E702",
                 ExitCode::data,
                 "the tokenizer has " + std::to_string(tokens) + " tokens, the model knows " +
                     std::to_string(vocab),
                 {"  --> " + folder.string()},
                 "take tokenizer.json and config.json from the same revision of the same model"});
}

std::string conversion_help(const std::filesystem::path& folder) {
  std::error_code missing;
  const auto has = [&](const char* name) {
    return std::filesystem::exists(folder / name, missing);
  };
  if (text::has_tokenizer(folder) || std::ranges::none_of(kOtherForms, has)) return "";
  return kConvertCommand + store::shell_word(folder.string());
}

void refuse_absent_tokenizer(const std::filesystem::path& folder, const std::string& what) {
  ErrorReport report{"E603",
                     ExitCode::no_input,
                     what + " needs a tokenizer, and the model's folder has no tokenizer.json",
                     {"  --> " + folder.string()},
                     conversion_help(folder)};
  const bool is_convertible = !report.help.empty();
  if (!is_convertible) report.help = "model.path=FOLDER with tokenizer.json, or rows of token_ids";
  if (is_convertible)
    report.lines.push_back("  its tokenizer has another form, which can be converted");
  throw Failure(std::move(report));
}

}  // namespace mgpu::rows
