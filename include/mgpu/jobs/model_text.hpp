#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include <mgpu/cluster/group.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::jobs {

/// The files of a folder that say how texts become tokens; nothing without tokenizer.json, which
/// rows of token ids do not need. For one rank.
std::optional<text::TextFiles> read_model_text(const std::filesystem::path& folder);

/// What rank 0 has, on every rank.
///
/// Ranks:  collective.
void share_model_text(const cluster::Group& world, std::optional<text::TextFiles>& files);

/// What the files say, for a model that knows `vocab` tokens.
///
/// Errors: those of text::parse_text_folder(); Failure E702 when the tokenizer has tokens that the
///         model does not know.
std::optional<text::TextFolder> parse_model_text(const std::optional<text::TextFiles>& files,
                                                 const std::filesystem::path& folder,
                                                 std::int64_t vocab);

}  // namespace mgpu::jobs
