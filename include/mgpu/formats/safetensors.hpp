#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/unique_handle.hpp>

namespace mgpu::formats {

/// A tensor of somebody else: what is written, or where a stored one goes.
struct NamedTensor {
  std::string name;                 // UTF-8, "blocks.0.attn.qkv.weight"
  std::vector<std::int64_t> shape;  // [] is a scalar; 0 is allowed
  BufferView view;                  // host memory, contiguous, product(shape) elements
};

using TensorMetadata = std::map<std::string, std::string>;

/// "[192, 64]".
std::string to_text(std::span<const std::int64_t> shape);

/// The format's word for a type: "F32", "BF16".
std::string_view name_of(DType dtype);

/// Errors: Error when the view is not host memory or does not have the elements of the shape.
void check_view(const NamedTensor& tensor);

/// What a file holds, as it was in memory when it was written.
struct SafetensorsDigest {
  std::uint64_t bytes = 0;                       // of the file
  std::string sha256;                            // of the file
  std::map<std::string, std::uint32_t> tensors;  // name -> CRC-32C of the data
};

/// Bytes that write_safetensors would write.
std::uint64_t safetensors_bytes(std::span<const NamedTensor> tensors,
                                const TensorMetadata& metadata);

/// Writes a new file, syncs and closes it. Equal tensors and metadata give equal bytes, whatever
/// the order of `tensors`: wide types first, then by name, as the Python writer does.
///
/// Memory: host; in pieces of 8 MiB, no copy of the tensors is made.
/// Errors: Error when a name is doubled or not UTF-8, or a view does not match its shape;
///         Failure E601, E602 of DurableFile("checkpoint"), a part of the file stays behind then.
/// Source: huggingface/safetensors README, "Format".
SafetensorsDigest write_safetensors(const fs::path& path, std::span<const NamedTensor> tensors,
                                    const TensorMetadata& metadata);

/// One tensor of a file.
struct StoredTensor {
  std::string name;
  std::string dtype_name;            // as in the file: "BF16", "F8_E4M3"
  std::optional<DType> dtype;        // none where this program has no such type
  std::vector<std::int64_t> shape;   //
  std::span<const std::byte> bytes;  // lives as long as the SafetensorsFile
};

struct Mapping {
  void* data = nullptr;
  std::size_t bytes = 0;

  friend bool operator==(const Mapping&, const Mapping&) = default;
};

struct MappingTraits {
  using Raw = Mapping;
  static constexpr bool kCollective = false;
  static Raw null() noexcept { return {}; }
  static void destroy(Raw mapping) noexcept;
};

/// A safetensors file, mapped read-only. Nothing in it is trusted: the header is checked whole
/// before the constructor returns.
///
/// Errors: Failure E603 (missing, exit 66), E621 (not well-formed, exit 65), E622 (pickle, zip or
///         Git LFS pointer, exit 65), each with the path and what to do.
class SafetensorsFile {
public:
  explicit SafetensorsFile(fs::path path);

  const fs::path& path() const { return path_; }
  std::uint64_t bytes() const { return mapping_.get().bytes; }

  /// In the order of their data.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// nullptr when there is no such tensor.
  const StoredTensor* find(std::string_view name) const;
  const TensorMetadata& metadata() const { return metadata_; }

private:
  fs::path path_;
  UniqueHandle<MappingTraits> mapping_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string_view, const StoredTensor*> by_name_;
  TensorMetadata metadata_;
};

}  // namespace mgpu::formats
