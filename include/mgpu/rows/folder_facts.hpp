#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <mgpu/lm/weights/resident_models.hpp>
#include <mgpu/run/model_keys.hpp>

namespace mgpu::rows {

/// Identifies the contents of a model folder, by a checksum and by a text for people.
struct FolderFacts {
  /// Checksum of the files of configuration and tokenizer, and of every tensor: its name, type,
  /// shape, and 4 KiB at each end of its data. A resumed run reuses chunks in the journal only if
  /// this checksum has not changed.
  std::uint32_t fingerprint = 0;
  std::string text;  // "llama, 15.2 M parameters in bfloat16"
};

/// Returns the FolderFacts of a model folder. With `models`, the ranks of a node share the result,
/// so each node opens the files only once.
/// Ranks:  local.
/// Errors: those of read_lm_config(), read_file() and WeightFiles; with `models`, those of
///         ResidentModels::about().
FolderFacts folder_facts(const std::filesystem::path& folder, lm::ResidentModels* models = nullptr);

inline std::string describe_model(const std::filesystem::path& folder,
                                  lm::ResidentModels* models = nullptr) {
  return folder_facts(folder, models).text;
}
inline std::uint32_t model_fingerprint(const std::filesystem::path& folder,
                                       lm::ResidentModels* models = nullptr) {
  return folder_facts(folder, models).fingerprint;
}

/// Returns the checksum `crc`, extended by the number of ranks among which the sums in matrix
/// products are divided (keys.summing_ranks()). Returns `crc` unchanged if this number is 1.
std::uint32_t crc_with_groups(const run::ModelKeys& keys, std::uint32_t crc);

}  // namespace mgpu::rows
