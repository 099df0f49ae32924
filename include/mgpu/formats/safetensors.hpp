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

/// A named view of a tensor: the source of a write, or the destination of a read.
struct NamedTensor {
  std::string name;                 // UTF-8, "blocks.0.attn.qkv.weight"
  std::vector<std::int64_t> shape;  // [] is a scalar; a length may be 0
  BufferView view;                  // host memory, contiguous, product(shape) elements
};

using TensorMetadata = std::map<std::string, std::string>;

/// Formats a shape as "[192, 64]".
std::string to_text(std::span<const std::int64_t> shape);

/// Returns the name that safetensors files use for a type: "F32", "BF16".
std::string_view name_of(DType dtype);

/// Checks the view of `tensor`. Errors: Error when the view is not in host memory, when the shape
/// has a negative length, or when the view and the shape differ in their number of elements.
void check_view(const NamedTensor& tensor);

/// Size and checksums of a safetensors file. write_safetensors() computes them from the data in
/// memory, during the write.
struct SafetensorsDigest {
  std::uint64_t bytes = 0;                       // size of the file
  std::string sha256;                            // of the file
  std::map<std::string, std::uint32_t> tensors;  // name -> CRC-32C of the tensor's data
};

/// Returns how many bytes write_safetensors would write.
/// Errors: Error in the cases in which write_safetensors() throws Error.
std::uint64_t safetensors_bytes(std::span<const NamedTensor> tensors,
                                const TensorMetadata& metadata);

/// Writes a new file, syncs and closes it. The order of `tensors` does not change the bytes of the
/// file. As in the Python writer, tensors are sorted by type, wide types first, then by name.
///
/// Memory: host; writes 8 MiB at a time, without a copy of the tensors.
/// Errors: Error when a name is repeated or is `__metadata__`, a name or the metadata is not UTF-8,
///         or check_view() throws. Failure E601 (cannot be created, exit 73), E602 (write failed,
///         exit 74), after which a partial file may remain.
/// Source: huggingface/safetensors README, "Format".
SafetensorsDigest write_safetensors(const fs::path& path, std::span<const NamedTensor> tensors,
                                    const TensorMetadata& metadata);

/// One tensor of an open SafetensorsFile.
struct StoredTensor {
  std::string name;
  std::string dtype_name;      // as in the file: "BF16", "F8_E4M3"
  std::optional<DType> dtype;  // nullopt if this program lacks the type
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // valid as long as the SafetensorsFile exists
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

/// A safetensors file from an untrusted source, mapped read-only. The constructor checks the whole
/// header.
///
/// Errors: Failure E603 (missing or unreadable, exit 66; I/O error, exit 74), E621 (malformed, exit
///         65), E622 (pickle, zip or Git LFS pointer, exit 65). Each report names the path;
///         those of E621 and E622 also give a remedy.
class SafetensorsFile {
public:
  explicit SafetensorsFile(fs::path path);

  const fs::path& path() const { return path_; }
  std::uint64_t bytes() const { return mapping_.get().bytes; }

  /// Returns the tensors in the order of their data.
  const std::vector<StoredTensor>& tensors() const { return tensors_; }
  /// Returns the tensor `name`; nullptr if there is no such tensor.
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
