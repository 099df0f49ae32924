#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/formats/checkpoint_manifest.hpp>
#include <mgpu/formats/safetensors.hpp>

namespace mgpu::formats {

/// Returns whether has_safetensors(folder) is true, or `folder` has a file with the extension of a
/// PyTorch pickle. WeightFiles refuses a folder that has only pickles.
bool has_weight_files(const fs::path& folder);

/// Returns whether `folder` has model.safetensors, or has both model.safetensors.index.json and at
/// least one .safetensors file.
bool has_safetensors(const fs::path& folder);

/// The weights of a Hugging Face model folder: `model.safetensors`, or the shards that
/// `model.safetensors.index.json` names. All headers are checked on opening; the data are mapped
/// and read on first access.
///
/// Shard names are plain file names. A shard may be a link to a file in this folder. If the folder
/// is a snapshot in the Hub cache, a shard may also be a link into the cache's `blobs`. Other links
/// are refused.
///
/// If the folder is a checkpoint of this program, its MANIFEST.json has sizes and checksums. The
/// constructor checks the sizes of all listed files, and the SHA-256 of files without tensors
/// (configuration, tokenizer). check() checks the data of one tensor. Listed files that hold no
/// weights of the model may be absent.
///
/// Errors: Failure E603 (no folder, no weights in it, or a shard is missing, exit 66; I/O error,
///         exit 74); E621 (a malformed file), E622 (only pickles, or Git LFS pointers); E623
///         (malformed index), E624 (index and shards disagree, or point outside the folder), each
///         exit 65; E611 (damaged checkpoint), exit 80; E613 (newer checkpoint format), exit 73.
class WeightFiles {
public:
  explicit WeightFiles(fs::path folder);

  const fs::path& folder() const { return folder_; }

  /// Returns the tensor `name`, which is valid as long as this object exists; nullptr if there is
  /// no such tensor.
  const StoredTensor* find(std::string_view name) const;

  /// Returns the tensors of all files by name, in order of the names.
  const std::map<std::string_view, const StoredTensor*>& tensors() const { return tensors_; }

  /// Compares the CRC-32C of a tensor's bytes with the manifest, if the folder has one. Reads all
  /// bytes of the tensor.
  /// Errors: Failure E611 (exit 80) if the checksum differs from the one in the manifest, or if the
  ///         manifest lists the file of the tensor without the tensor.
  void check(const StoredTensor& tensor) const;

private:
  void open_shards(const fs::path& index);
  void check_with_manifest();

  fs::path folder_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string_view, const StoredTensor*> tensors_;
  std::optional<CheckpointManifest> manifest_;
};

}  // namespace mgpu::formats
