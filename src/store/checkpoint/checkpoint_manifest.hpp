#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <mgpu/formats/safetensors.hpp>

namespace mgpu::store {

/// MANIFEST.json of a checkpoint: what each of its files must be.
struct CheckpointManifest {
  std::int64_t format_version = 1;
  std::int64_t step = 0;
  std::map<std::string, formats::SafetensorsDigest> files;  // no tensors for state.json
};

/// The one text for a manifest. It ends with a CRC-32C of itself.
std::string to_json(const CheckpointManifest& manifest);

/// Errors: Error with the reason when `text` is not, byte for byte, what to_json wrote. A newer
///         format_version is returned with nothing else read.
CheckpointManifest manifest_from_json(std::string_view text);

}  // namespace mgpu::store
