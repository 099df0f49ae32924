#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <mgpu/cluster/group.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/lm/weights/resident_models.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::rows {

/// Adds the key data.chat_template.
void add_chat_template_key(KeyTable& table);

/// The chat template that renders conversations: the value of data.chat_template.
struct ChatChoice {
  std::string chosen{};  // file, or name of a template in the folder; "": the default of the folder
  bool is_none = false;  // true: use no template, not even that of the folder
};

ChatChoice read_chat_choice(const Config& config);

/// Reads the files of a folder that define its tokenizer, and the chosen chat template. Returns
/// nullopt if text::has_tokenizer() is false. A missing tokenizer is no error here, because rows of
/// token ids need no tokenizer.
///
/// Ranks:  local; one rank calls this function.
/// Errors: those of text::read_text_files(), text::read_chat_templates() and read_file(); Failure
///         E603 (exit 66) when the folder has no template of the chosen name, E544 when the
///         template is empty or not UTF-8.
std::optional<text::TextFiles> read_tokenizer_files(const std::filesystem::path& folder,
                                                    const ChatChoice& chat);

/// Calls read_tokenizer_files() on rank 0, and broadcasts the result to every rank.
///
/// Ranks:  collective over `world`.
/// Errors: those of read_tokenizer_files(); all ranks throw the same error.
std::optional<text::TextFiles> read_shared_tokenizer_files(const cluster::Group& world,
                                                           const std::filesystem::path& folder,
                                                           const ChatChoice& chat);

/// Parses the template that data.chat_template names, to find mistakes before any work. Does
/// nothing if the key names no template. `config` is for messages that point at the key.
///
/// Errors: Failure E603 (exit 66) when there is no such file or template; E544 when the template is
///         empty, not UTF-8 or not understood; E546 when this build has no chat templates; those of
///         text::read_chat_templates() and read_file().
void check_chat_template(const Config& config, const std::filesystem::path& folder,
                         const ChatChoice& chat);

/// Holds the tokenizer files of a model folder, and a checksum of the model and the tokenizer.
struct FolderTokenizer {
  std::optional<text::TextFiles> files;  // result of read_tokenizer_files()
  std::uint32_t fingerprint = 0;         // result of model_fingerprint()
};

/// Reads the tokenizer files of a model folder, and computes the checksum of the folder. The
/// checksum is 0 if the folder has no weights, because a dry run (--plan) needs no weights. For
/// `models` see folder_facts().
/// Errors: those of read_tokenizer_files() and model_fingerprint().
FolderTokenizer read_folder_tokenizer(const std::filesystem::path& folder, const ChatChoice& chat,
                                      lm::ResidentModels* models = nullptr);

/// Reads the tokenizer files of a model folder and computes the checksum of the folder on rank 0.
/// Broadcasts the files and the checksum to every rank. The folder must have weights. For `models`
/// see folder_facts().
///
/// Ranks:  collective over `world`.
/// Errors: those of read_tokenizer_files() and model_fingerprint(); all ranks throw the same error.
FolderTokenizer read_folder_tokenizer(const cluster::Group& world,
                                      const std::filesystem::path& folder, const ChatChoice& chat,
                                      lm::ResidentModels* models = nullptr);

/// Returns the checksum of `files->chat_template`. Returns 0 if `files` or `files->chat_template`
/// is nullopt. A template in tokenizer_config.json is not covered, because model_fingerprint()
/// covers that file.
std::uint32_t chat_crc(const std::optional<text::TextFiles>& files);

/// Parses the tokenizer files of `folder`, for a model with a vocabulary of `vocab` tokens. Returns
/// nullopt if `files` is nullopt.
///
/// Errors: those of text::parse_text_folder(); Failure E702 when the tokenizer has tokens outside
///         the model's vocabulary.
std::optional<text::TextFolder> parse_tokenizer_files(const std::optional<text::TextFiles>& files,
                                                      const std::filesystem::path& folder,
                                                      std::int64_t vocab);

/// Returns a command that converts the tokenizer files of `folder` to tokenizer.json. Returns "" if
/// text::has_tokenizer() is true, or if the folder has no files that can be converted.
std::string conversion_help(const std::filesystem::path& folder);

/// Throws Failure E603 (exit 66), whose message says that `what` needs a tokenizer and that
/// `folder` has no tokenizer.json. The help is conversion_help(), or other advice if that is "".
[[noreturn]] void refuse_absent_tokenizer(const std::filesystem::path& folder,
                                          const std::string& what);

}  // namespace mgpu::rows
