#include <algorithm>
#include <set>
#include <string_view>

#include <mgpu/base/error.hpp>
#include <mgpu/base/sha256.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/formats/safetensors.hpp>

namespace mgpu::formats {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{8} << 20;
constexpr std::size_t kHeaderAlign = 8;  // keeps every tensor aligned for its type

/// The name of a type in safetensors files, and the place of the type in the order that the Python
/// package safetensors writes. Tensors with a larger `order` come first in the file.
struct WrittenType {
  std::string_view name;
  int order;
};

WrittenType format_type(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return {"U8", 0};
    case DType::f16:
      return {"F16", 1};
    case DType::bf16:
      return {"BF16", 2};
    case DType::i32:
      return {"I32", 3};
    case DType::u32:
      return {"U32", 4};
    case DType::f32:
      return {"F32", 5};
    case DType::f64:
      return {"F64", 6};
    case DType::i64:
      return {"I64", 7};
    case DType::u64:
      return {"U64", 8};
  }
  throw Error("unknown DType " + std::to_string(static_cast<int>(dtype)));
}

/// Returns the tensors in the order of their data in the file.
std::vector<const NamedTensor*> in_file_order(std::span<const NamedTensor> tensors) {
  std::vector<const NamedTensor*> ordered;
  for (const NamedTensor& tensor : tensors) {
    check_view(tensor);
    if (tensor.name == "__metadata__") throw Error("no tensor can be named `__metadata__`");
    ordered.push_back(&tensor);
  }
  std::sort(ordered.begin(), ordered.end(), [](const NamedTensor* a, const NamedTensor* b) {
    const int order_a = format_type(a->view.dtype).order;
    const int order_b = format_type(b->view.dtype).order;
    return order_a != order_b ? order_a > order_b : a->name < b->name;
  });
  return ordered;
}

std::string json_text(std::string_view text) {
  try {
    return to_json_line(text);
  } catch (const JsonError&) {
    throw Error("tensor names and metadata must be UTF-8");
  }
}

/// Formats the members of a JSON object, such as "a":"b","c":"d", without braces.
std::string members_of(const TensorMetadata& metadata) {
  std::string text;
  for (const auto& [key, value] : metadata) {
    if (!text.empty()) text += ',';
    text.append(json_text(key)).append(":").append(json_text(value));
  }
  return text;
}

/// Returns the start of the file: eight bytes with the length of the header, then the header, which
/// is JSON that is padded with spaces.
std::string header_of(const std::vector<const NamedTensor*>& ordered,
                      const TensorMetadata& metadata) {
  std::string text = "{";
  if (!metadata.empty()) {
    text.append("\"__metadata__\":{").append(members_of(metadata)).append("}");
  }
  std::set<std::string_view> names;
  std::uint64_t offset = 0;
  for (const NamedTensor* tensor : ordered) {
    if (!names.insert(tensor->name).second) throw Error("tensor `" + tensor->name + "` twice");
    const std::uint64_t end = offset + tensor->view.bytes();
    const JsonValue::Members entry{
        {"dtype", format_type(tensor->view.dtype).name},
        {"shape", JsonValue::List(tensor->shape.begin(), tensor->shape.end())},
        {"data_offsets", JsonValue::List{offset, end}}};
    if (text.size() > 1) text += ',';
    text.append(json_text(tensor->name)).append(":").append(to_json_line(entry));
    offset = end;
  }
  text += "}";
  text.append((kHeaderAlign - text.size() % kHeaderAlign) % kHeaderAlign, ' ');
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    length[i] = static_cast<char>((text.size() >> (8 * i)) & 0xff);  // little-endian
  return length + text;
}

}  // namespace

std::string to_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  text += "]";
  return text;
}

std::string_view name_of(DType dtype) {
  return format_type(dtype).name;
}

void check_view(const NamedTensor& tensor) {
  const auto refuse = [&](const std::string& why) {
    throw Error("tensor `" + tensor.name + "`: " + why);
  };
  if (tensor.view.device.kind != DeviceKind::cpu) refuse("it is not in host memory");
  std::size_t count = 1;
  for (const std::int64_t length : tensor.shape) {
    if (length < 0 || __builtin_mul_overflow(count, static_cast<std::size_t>(length), &count)) {
      refuse("shape " + to_text(tensor.shape));
    }
  }
  if (count != tensor.view.count) {
    refuse("shape " + to_text(tensor.shape) + " is not " + std::to_string(tensor.view.count) +
           " elements");
  }
}

std::uint64_t safetensors_bytes(std::span<const NamedTensor> tensors,
                                const TensorMetadata& metadata) {
  std::uint64_t bytes = header_of(in_file_order(tensors), metadata).size();
  for (const NamedTensor& tensor : tensors)
    bytes += tensor.view.bytes();
  return bytes;
}

SafetensorsDigest write_safetensors(const fs::path& path, std::span<const NamedTensor> tensors,
                                    const TensorMetadata& metadata) {
  const std::vector<const NamedTensor*> ordered = in_file_order(tensors);
  const std::string header = header_of(ordered, metadata);
  DurableFile file(path, "checkpoint", DurableFile::Mode::create_new);
  file.reserve(safetensors_bytes(tensors, metadata));
  SafetensorsDigest digest;
  Sha256 sha256;
  const auto put = [&](std::span<const std::byte> bytes) {
    file.write(bytes);
    sha256.add(bytes);
    digest.bytes += bytes.size();
  };
  put(std::as_bytes(std::span(header)));
  for (const NamedTensor* tensor : ordered) {
    std::uint32_t& crc = digest.tensors[tensor->name];
    std::span<const std::byte> rest(static_cast<const std::byte*>(tensor->view.data),
                                    tensor->view.bytes());
    while (!rest.empty()) {
      const std::span<const std::byte> piece = rest.first(std::min(kPieceBytes, rest.size()));
      crc = crc32c(piece, crc);
      put(piece);
      rest = rest.subspan(piece.size());
    }
  }
  file.sync();
  file.close();
  digest.sha256 = sha256.hex();
  return digest;
}

}  // namespace mgpu::formats
