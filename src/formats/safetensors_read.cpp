#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include <fcntl.h>
#include <simdjson.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/lfs_pointer.hpp>
#include <mgpu/formats/safetensors.hpp>

namespace mgpu::formats {
namespace {

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // limit of the safetensors format
constexpr std::size_t kMaxHeaderDepth = 8;              // {tensor: {shape: [..]}} needs 3

struct ReadType {
  std::string_view name;
  unsigned bits;
  std::optional<DType> dtype{};
};

constexpr std::array kTypes = {ReadType{"BOOL", 8},
                               ReadType{"U8", 8, DType::u8},
                               ReadType{"I8", 8},
                               ReadType{"F4", 4},
                               ReadType{"F6_E2M3", 6},
                               ReadType{"F6_E3M2", 6},
                               ReadType{"F8_E4M3", 8},
                               ReadType{"F8_E5M2", 8},
                               ReadType{"F8_E8M0", 8},
                               ReadType{"I16", 16},
                               ReadType{"U16", 16},
                               ReadType{"F16", 16, DType::f16},
                               ReadType{"BF16", 16, DType::bf16},
                               ReadType{"I32", 32, DType::i32},
                               ReadType{"U32", 32, DType::u32},
                               ReadType{"F32", 32, DType::f32},
                               ReadType{"C64", 64},
                               ReadType{"F64", 64, DType::f64},
                               ReadType{"I64", 64, DType::i64},
                               ReadType{"U64", 64, DType::u64}};

/// Returns a name for messages. The name is in backquotes, has ? for each control byte, and is cut
/// to at most 120 bytes. `name` comes from the file, so it can be any text.
std::string shown(std::string_view name) {
  std::size_t length = std::min<std::size_t>(name.size(), 120);
  while (length < name.size() && (static_cast<unsigned char>(name[length]) & 0xc0) == 0x80)
    --length;  // never split a UTF-8 character
  std::string text = "`";
  for (const char c : name.substr(0, length)) {
    const auto byte = static_cast<unsigned char>(c);
    text += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return text + (name.size() > length ? "...`" : "`");
}

/// Reads the header of one file; throws a Failure unless the header is valid.
class HeaderParser {
public:
  HeaderParser(const fs::path& path, std::span<const std::byte> file) : path_(path), file_(file) {}

  void parse(std::vector<StoredTensor>& tensors, TensorMetadata& metadata) {
    const std::string_view json = header_text();
    data_ = file_.subspan(8 + json.size());
    simdjson::dom::parser parser;
    if (parser.allocate(json.size(), kMaxHeaderDepth) != simdjson::SUCCESS) throw std::bad_alloc();
    simdjson::dom::object root;
    const simdjson::error_code error = parser.parse(json.data(), json.size()).get(root);
    if (error != simdjson::SUCCESS) {
      refuse(std::string("the header is not a JSON object: ") + simdjson::error_message(error));
    }
    std::set<std::string_view> names;
    for (const auto [key, value] : root) {
      if (!names.insert(key).second) refuse(shown(key) + " comes twice");
      if (key == "__metadata__") {
        read_metadata(value, metadata);
      } else {
        add_tensor(key, value, tensors);
      }
    }
    check_cover(tensors);
  }

private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Failure({"E621",
                   ExitCode::data,
                   "a safetensors file is not well-formed: " + why,
                   {"  --> " + path_.string()},
                   "it is damaged or cut off: fetch or write it again"});
  }

  [[noreturn]] void refuse(std::string_view tensor, const std::string& why) const {
    refuse("tensor " + shown(tensor) + ": " + why);
  }

  bool starts_with(std::string_view start) const {
    return file_.size() >= start.size() &&
           std::memcmp(file_.data(), start.data(), start.size()) == 0;
  }

  /// Throws Failure E622 if the file is a Git LFS pointer, a pickle or a zip archive. Callers call
  /// this function when the file has no valid safetensors header. For these kinds of files, an
  /// error that names the kind helps the user more than one about the header.
  void refuse_known_kinds() const {
    refuse_lfs_pointer(path_, {reinterpret_cast<const char*>(file_.data()), file_.size()});
    ErrorReport report{"E622", ExitCode::data, "", {"  --> " + path_.string()}, ""};
    const bool pickle = starts_with("\x80\x02") || starts_with("\x80\x03") ||
                        starts_with("\x80\x04") || starts_with("\x80\x05");
    if (pickle || starts_with("PK\x03\x04")) {
      report.sentence = "this is a PyTorch pickle, which can run code when it is read";
      report.help =
          "convert it to safetensors: in Python, "
          "safetensors.torch.save_file(torch.load(FILE, weights_only=True), NEW_FILE)";
      throw Failure(std::move(report));
    }
  }

  std::string_view header_text() const {
    if (file_.size() < 8) refuse_known_kinds();
    if (file_.size() < 8) refuse("it has " + std::to_string(file_.size()) + " bytes, 8 are needed");
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < 8; ++i)
      length |= std::to_integer<std::uint64_t>(file_[i]) << (8 * i);  // little-endian
    const std::uint64_t limit = std::min<std::uint64_t>(kMaxHeaderBytes, file_.size() - 8);
    if (length > limit) {
      refuse_known_kinds();
      // The message omits the length. If a link leads to another file, the length would reveal
      // eight bytes of that file.
      refuse("its header claims more than the " + std::to_string(limit) +
             " bytes that are possible");
    }
    if (length == 0 || file_[8] != std::byte{'{'}) {
      refuse_known_kinds();
      refuse("its header does not start with {");
    }
    return {reinterpret_cast<const char*>(file_.data()) + 8, static_cast<std::size_t>(length)};
  }

  void read_metadata(simdjson::dom::element value, TensorMetadata& metadata) const {
    simdjson::dom::object members;
    if (value.get(members) != simdjson::SUCCESS) refuse("`__metadata__` is not an object");
    for (const auto [key, element] : members) {
      std::string_view text;
      if (element.get(text) != simdjson::SUCCESS) {
        refuse("`__metadata__`: the value of " + shown(key) + " is not a text");
      }
      if (!metadata.emplace(key, text).second) {
        refuse("`__metadata__`: " + shown(key) + " comes twice");
      }
    }
  }

  void add_tensor(std::string_view name, simdjson::dom::element value,
                  std::vector<StoredTensor>& tensors) const {
    simdjson::dom::object members;
    if (value.get(members) != simdjson::SUCCESS) refuse(name, "its entry is not an object");
    std::optional<ReadType> type;
    std::optional<std::vector<std::int64_t>> shape;
    std::optional<std::vector<std::int64_t>> offsets;
    for (const auto [key, element] : members) {
      if (key == "dtype" && !type) {
        type = type_of(name, element);
      } else if (key == "shape" && !shape) {
        shape = integers_of(name, key, element);
      } else if (key == "data_offsets" && !offsets) {
        offsets = integers_of(name, key, element);
      } else {
        refuse(name, "field " + shown(key) + " is unknown or comes twice");
      }
    }
    if (!type || !shape || !offsets) refuse(name, "dtype, shape or data_offsets is missing");
    tensors.push_back({std::string(name), std::string(type->name), type->dtype, *shape,
                       data_of(name, *type, *shape, *offsets)});
  }

  ReadType type_of(std::string_view name, simdjson::dom::element element) const {
    std::string_view text;
    if (element.get(text) != simdjson::SUCCESS) refuse(name, "its dtype is not a text");
    const auto* found = std::find_if(kTypes.begin(), kTypes.end(),
                                     [&](const ReadType& type) { return type.name == text; });
    if (found == kTypes.end()) refuse(name, "unknown dtype " + shown(text));
    return *found;
  }

  std::vector<std::int64_t> integers_of(std::string_view name, std::string_view field,
                                        simdjson::dom::element element) const {
    simdjson::dom::array array;
    if (element.get(array) != simdjson::SUCCESS) {
      refuse(name, std::string(field) + " is not a list");
    }
    std::vector<std::int64_t> values;
    for (const simdjson::dom::element item : array) {
      std::int64_t value = 0;
      if (item.get(value) != simdjson::SUCCESS || value < 0) {
        refuse(name, std::string(field) + " must hold whole numbers from 0 to 2^63 - 1");
      }
      values.push_back(value);
    }
    return values;
  }

  std::span<const std::byte> data_of(std::string_view name, const ReadType& type,
                                     const std::vector<std::int64_t>& shape,
                                     const std::vector<std::int64_t>& offsets) const {
    std::uint64_t bits = type.bits;
    bool overflow = false;
    for (const std::int64_t length : shape)
      overflow |= __builtin_mul_overflow(bits, static_cast<std::uint64_t>(length), &bits);
    if (overflow) refuse(name, "shape " + to_text(shape) + " is too large");
    if (bits % 8 != 0) refuse(name, "its elements do not fill whole bytes");
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
      refuse(name, "data_offsets " + to_text(offsets) + " are not [begin, end]");
    }
    const auto begin = static_cast<std::uint64_t>(offsets[0]);
    const auto end = static_cast<std::uint64_t>(offsets[1]);
    if (end > data_.size()) {
      refuse(name, "its data ends at byte " + std::to_string(end) + " of " +
                       std::to_string(data_.size()));
    }
    if (end - begin != bits / 8) {
      refuse(name, std::string(type.name) + " " + to_text(shape) + " needs " +
                       std::to_string(bits / 8) + " bytes, the file gives it " +
                       std::to_string(end - begin));
    }
    return data_.subspan(begin, end - begin);
  }

  /// Sorts `tensors` by offset, and checks that they cover each byte of the data exactly once.
  void check_cover(std::vector<StoredTensor>& tensors) const {
    std::sort(tensors.begin(), tensors.end(), [](const StoredTensor& a, const StoredTensor& b) {
      const std::pair place_a(a.bytes.data(), a.bytes.size());
      const std::pair place_b(b.bytes.data(), b.bytes.size());
      return place_a != place_b ? place_a < place_b : a.name < b.name;
    });
    std::uint64_t covered = 0;
    for (const StoredTensor& tensor : tensors) {
      const auto begin = static_cast<std::uint64_t>(tensor.bytes.data() - data_.data());
      if (begin != covered) {
        refuse(tensor.name, std::string(begin < covered ? "its data overlaps another's"
                                                        : "there is a hole before its data") +
                                " at byte " + std::to_string(begin));
      }
      covered += tensor.bytes.size();
    }
    if (covered != data_.size()) {
      refuse(std::to_string(data_.size() - covered) + " bytes follow the last tensor");
    }
  }

  const fs::path& path_;
  std::span<const std::byte> file_;
  std::span<const std::byte> data_;  // the bytes after the header
};

[[noreturn]] void fail_open(const fs::path& path, std::string_view why, bool io = false) {
  throw Failure({"E603",
                 io ? ExitCode::io : ExitCode::no_input,
                 "cannot read a file: " + std::string(why),
                 {"  --> " + path.string()},
                 ""});
}

Mapping map_file(const fs::path& path) {
  // Without O_NONBLOCK, open() of a pipe would wait for a writer.
  const FdHandle fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) fail_open(path, std::strerror(errno), errno == EIO || errno == ESTALE);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) fail_open(path, std::strerror(errno), true);
  if (!S_ISREG(info.st_mode)) fail_open(path, "it is not a regular file");
  const auto bytes = static_cast<std::size_t>(info.st_size);
  if (bytes == 0) return {};
  void* data = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (data == MAP_FAILED) fail_open(path, std::strerror(errno), true);
  return {data, bytes};
}

}  // namespace

void MappingTraits::destroy(Raw mapping) noexcept {
  ::munmap(mapping.data, mapping.bytes);
}

SafetensorsFile::SafetensorsFile(fs::path path)
    : path_(std::move(path)), mapping_(map_file(path_)) {
  const Mapping mapping = mapping_.get();
  HeaderParser parser(path_, {static_cast<const std::byte*>(mapping.data), mapping.bytes});
  parser.parse(tensors_, metadata_);
  for (const StoredTensor& tensor : tensors_)
    by_name_.emplace(tensor.name, &tensor);
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

}  // namespace mgpu::formats
