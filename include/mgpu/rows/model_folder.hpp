#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <mgpu/config/config.hpp>

namespace mgpu::rows {

/// Whether there is a model's folder, for one rank, before anything is made.
/// Errors: Failure E603 (exit 66) that points at the key.
void check_model_folder(const Config& config);

/// "llama, 15.2 M parameters in bfloat16": what the headers of the folder say.
std::string model_text(const std::filesystem::path& folder);

/// A number of what the folder holds, for the journal: chunks made with other weights or another
/// tokenizer are never taken for these. It looks at every file and tensor, but only at 4 KiB at
/// both ends of a tensor.
std::uint32_t model_fingerprint(const std::filesystem::path& folder);

/// The same number for this group of ranks: where they share sums, other groups round otherwise.
std::uint32_t crc_with_groups(const Config& config, std::uint32_t crc);

}  // namespace mgpu::rows
