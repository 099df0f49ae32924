#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/safetensors.hpp>

namespace mgpu::formats {

/// The checkpoint format that this program writes. The program also reads all older formats.
inline constexpr std::int64_t kCheckpointFormat = 1;

/// Name of the file that holds the manifest, in the folder of a checkpoint.
inline constexpr const char* kManifestName = "MANIFEST.json";

/// MANIFEST.json of a checkpoint: the expected size and checksums of each file. Only .safetensors
/// files have checksums of tensors.
struct CheckpointManifest {
  std::int64_t format_version = 1;
  std::int64_t step = 0;
  std::map<std::string, SafetensorsDigest> files;  // by file name
};

/// Returns the text of MANIFEST.json. Equal manifests give the same text. The text includes a
/// CRC-32C of its other members.
std::string to_json(const CheckpointManifest& manifest);

/// Parses the text of MANIFEST.json. If format_version is above kCheckpointFormat, only that member
/// is read.
/// Errors: Error with the reason when `text` is not a JSON object with a format_version; for a
///         known format also when `text` is not, byte for byte, the output of to_json().
CheckpointManifest manifest_from_json(std::string_view text);

/// Throws Failure E611 (exit 80), which says that the file `path` of a checkpoint is damaged, and
/// shows `evidence`.
[[noreturn]] void refuse_damaged_checkpoint(const fs::path& path, const std::string& evidence);

/// Runs read(), which reads a file of a checkpoint, and returns its result. Every Error of read()
/// becomes Failure E611, except I/O errors of the disk (exit 74).
template <class Read>
auto read_of_checkpoint(const fs::path& path, Read read) {
  try {
    return read();
  } catch (const Failure& failure) {
    if (failure.exit_code() == ExitCode::io) throw;
    refuse_damaged_checkpoint(path, failure.report().sentence);
  } catch (const Error& error) {
    refuse_damaged_checkpoint(path, std::string("not readable: ") + error.what());
  }
}

/// Reads the manifest of a checkpoint's folder.
///
/// Errors: Failure E611 (exit 80) when the manifest is damaged or missing; E613 (exit 73) for a
///         newer format; E603 (exit 74) after an I/O error.
CheckpointManifest read_manifest(const fs::path& folder);

/// check_size() compares the size of the file `path` of a checkpoint with `expected`, and
/// check_sha256() compares its SHA-256.
/// Errors: Failure E611 (exit 80) if the file differs from `expected` or is missing; check_sha256()
///         also E603 (exit 74) after an I/O error.
void check_size(const fs::path& path, const SafetensorsDigest& expected);
void check_sha256(const fs::path& path, const SafetensorsDigest& expected);

/// Compares `found`, the CRC-32C of the bytes of tensor `name` in the file `path`, with `expected`.
/// Errors: Failure E611 (exit 80) if the two differ, or if `expected` lacks the tensor.
void check_tensor(const fs::path& path, const std::string& name, std::uint32_t found,
                  const SafetensorsDigest& expected);

}  // namespace mgpu::formats
