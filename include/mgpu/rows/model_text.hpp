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

/// The key data.chat_template.
void add_chat_template_key(KeyTable& table);

/// What conversations are written in.
struct ChatChoice {
  std::string chosen{};  // a file, or the name of one of the folder's; empty: the folder's own
  bool is_none = false;  // as if the folder had none
};

ChatChoice read_chat_choice(const Config& config);

/// The files of a folder that say how texts become tokens, with the chat template that was chosen;
/// nothing without tokenizer.json, which rows of token ids do not need. For one rank.
///
/// Errors: those of text::read_text_files() and read_file(); Failure E603 (exit 66) where there is
///         no template of that name, E544 where it is no text.
std::optional<text::TextFiles> read_model_text(const std::filesystem::path& folder,
                                               const ChatChoice& chat);

/// Looks at a chosen template before any work.
///
/// Errors: those of read_model_text(); Failure E544, E546 with its place.
void check_chat_template(const Config& config, const std::filesystem::path& folder);

/// What tells a model and its texts from others.
struct FolderText {
  std::optional<text::TextFiles> files;  // of read_model_text()
  std::uint32_t fingerprint = 0;         // of model_fingerprint()
};

/// Errors: those of read_model_text() and model_fingerprint().
FolderText read_folder_text(const std::filesystem::path& folder, const ChatChoice& chat,
                            lm::ResidentModels* models = nullptr);

/// The same on every rank; rank 0 reads.
///
/// Ranks:  collective. Errors: on all ranks.
FolderText read_folder_text(const cluster::Group& world, const std::filesystem::path& folder,
                            const ChatChoice& chat, lm::ResidentModels* models = nullptr);

/// A number that differs for other chat templates; 0 for that of tokenizer_config.json.
std::uint32_t chat_crc(const std::optional<text::TextFiles>& files);

/// What the files say, for a model that knows `vocab` tokens.
///
/// Errors: those of text::parse_text_folder(); Failure E702 when the tokenizer has tokens that the
///         model does not know.
std::optional<text::TextFolder> parse_model_text(const std::optional<text::TextFiles>& files,
                                                 const std::filesystem::path& folder,
                                                 std::int64_t vocab);

}  // namespace mgpu::rows
