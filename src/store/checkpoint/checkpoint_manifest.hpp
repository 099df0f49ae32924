#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <mgpu/formats/safetensors.hpp>

namespace mgpu::store {

/// MANIFEST.json of a checkpoint: the expected size and checksums of each file.
struct CheckpointManifest {
  std::int64_t format_version = 1;
  std::int64_t step = 0;
  std::map<std::string, formats::SafetensorsDigest> files;  // by name; state.json has no tensors
};

/// Returns the text of MANIFEST.json, the same for equal manifests. It includes the CRC-32C of its
/// other members.
std::string to_json(const CheckpointManifest& manifest);

/// Parses the text of MANIFEST.json. If format_version is newer than this program, only that member
/// is read.
/// Errors: Error with the reason when `text` is not, byte for byte, the output of to_json().
CheckpointManifest manifest_from_json(std::string_view text);

}  // namespace mgpu::store
