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

/// The chat template that renders conversations.
struct ChatChoice {
  std::string chosen{};  // a file, or a template's name in the folder; empty: the folder's own
  bool is_none = false;  // ignore the folder's template
};

ChatChoice read_chat_choice(const Config& config);

/// Reads the files of a folder that define its tokenizer, and the chosen chat template. Returns
/// nothing without tokenizer.json, which rows of token ids do not need. Called on one rank.
///
/// Errors: those of text::read_text_files() and read_file(); Failure E603 (exit 66) when no
///         template has that name, E544 when the template is empty or not UTF-8.
std::optional<text::TextFiles> read_tokenizer_files(const std::filesystem::path& folder,
                                                    const ChatChoice& chat);

/// Parses a chosen template before any work. `config` is for messages that point at the key.
///
/// Errors: those of read_tokenizer_files(); Failure E544, E546 with the position in the template.
void check_chat_template(const Config& config, const std::filesystem::path& folder,
                         const ChatChoice& chat);

/// Files and checksum that identify a model and its tokenizer.
struct FolderText {
  std::optional<text::TextFiles> files;  // of read_tokenizer_files()
  std::uint32_t fingerprint = 0;         // of model_fingerprint()
};

/// Errors: those of read_tokenizer_files() and model_fingerprint().
FolderText read_folder_text(const std::filesystem::path& folder, const ChatChoice& chat,
                            lm::ResidentModels* models = nullptr);

/// Reads the files on rank 0 and broadcasts the result to every rank.
///
/// Ranks:  collective. Errors: the same on all ranks.
FolderText read_folder_text(const cluster::Group& world, const std::filesystem::path& folder,
                            const ChatChoice& chat, lm::ResidentModels* models = nullptr);

/// Returns the checksum of the chat template; 0 for the template in tokenizer_config.json.
std::uint32_t chat_crc(const std::optional<text::TextFiles>& files);

/// Parses the files, for a model with a vocabulary of `vocab` tokens.
///
/// Errors: those of text::parse_text_folder(); Failure E702 when the tokenizer has tokens outside
///         the model's vocabulary.
std::optional<text::TextFolder> parse_tokenizer_files(const std::optional<text::TextFiles>& files,
                                                      const std::filesystem::path& folder,
                                                      std::int64_t vocab);

}  // namespace mgpu::rows
