#include <cstdio>
#include <string>

#include <mgpu/formats/checkpoint_manifest.hpp>

namespace mgpu::formats {
namespace {

constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{64} << 20;

std::string hex_number(std::uint32_t value) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

}  // namespace

void refuse_damaged_checkpoint(const fs::path& path, const std::string& evidence) {
  throw Failure({"E611",
                 ExitCode::corrupt,
                 "a checkpoint is damaged",
                 {"  --> " + path.string(), "  " + evidence},
                 "copy the folder again; if a file was changed on purpose, delete " +
                     std::string(kManifestName) + " of that folder"});
}

CheckpointManifest read_manifest(const fs::path& folder) {
  const fs::path path = folder / kManifestName;
  CheckpointManifest manifest =
      read_of_checkpoint(path, [&] { return manifest_from_json(read_file(path, kMaxJsonBytes)); });
  if (manifest.format_version > kCheckpointFormat) {
    throw Failure({"E613",
                   ExitCode::cannot_create,
                   "a checkpoint has format " + std::to_string(manifest.format_version) +
                       ", this program reads up to " + std::to_string(kCheckpointFormat),
                   {"  --> " + path.string()},
                   "use the newer program that wrote it, or --resume=never to start afresh"});
  }
  return manifest;
}

void check_size(const fs::path& path, const SafetensorsDigest& expected) {
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(path, error);
  if (error) refuse_damaged_checkpoint(path, error.message());
  if (bytes != expected.bytes) {
    refuse_damaged_checkpoint(path, "it has " + std::to_string(bytes) + " bytes, expected " +
                                        std::to_string(expected.bytes));
  }
}

void check_sha256(const fs::path& path, const SafetensorsDigest& expected) {
  const std::string found = read_of_checkpoint(path, [&] { return sha256_hex_of_file(path); });
  if (found != expected.sha256) {
    refuse_damaged_checkpoint(path, "SHA-256 expected " + expected.sha256 + ", found " + found);
  }
}

void check_tensor(const fs::path& path, const std::string& name, std::uint32_t found,
                  const SafetensorsDigest& expected) {
  const auto entry = expected.tensors.find(name);
  if (entry == expected.tensors.end())
    refuse_damaged_checkpoint(path, "tensor `" + name + "` is not in the manifest");
  if (found == entry->second) return;
  refuse_damaged_checkpoint(path, "tensor `" + name + "`: CRC-32C expected " +
                                      hex_number(entry->second) + ", found " + hex_number(found));
}

}  // namespace mgpu::formats
