#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <mgpu/config/config.hpp>
#include <mgpu/lm/weights/resident_models.hpp>

namespace mgpu::rows {

/// Whether there is a model's folder, for one rank, before anything is made.
/// Errors: Failure E603 (exit 66) that points at the key.
void check_model_folder(const Config& config);

/// What tells a model's folder from others, to the program and to a person.
struct FolderFacts {
  /// A number of what the folder holds, for the journal: chunks made with other weights or another
  /// tokenizer are never taken for these. It covers every file and tensor, but only 4 KiB at both
  /// ends of a tensor.
  std::uint32_t fingerprint = 0;
  std::string text;  // "llama, 15.2 M parameters in bfloat16"
};

/// With `models` the files are opened once on each node, whoever asks. Local.
/// Errors: those of read_lm_config() and WeightFiles.
FolderFacts folder_facts(const std::filesystem::path& folder, lm::ResidentModels* models = nullptr);

inline std::string model_text(const std::filesystem::path& folder,
                              lm::ResidentModels* models = nullptr) {
  return folder_facts(folder, models).text;
}
inline std::uint32_t model_fingerprint(const std::filesystem::path& folder,
                                       lm::ResidentModels* models = nullptr) {
  return folder_facts(folder, models).fingerprint;
}

/// The same number for this group of ranks: where they share sums, other groups round otherwise.
std::uint32_t crc_with_groups(const Config& config, std::uint32_t crc);

}  // namespace mgpu::rows
