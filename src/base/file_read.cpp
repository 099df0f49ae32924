#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mgpu/base/activity.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/sha256.hpp>

namespace mgpu {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

[[noreturn]] void fail_read(const fs::path& path, const std::string& reason, ExitCode exit) {
  throw Failure({"E603", exit, "cannot read a file: " + reason, {"  --> " + path.string()}, ""});
}

[[noreturn]] void fail_read(const fs::path& path, int error) {
  fail_read(path, std::strerror(error), error == EIO ? ExitCode::io : ExitCode::no_input);
}

/// Opens a regular file. Refuses pipes, because reading a pipe would wait for a writer. Refuses
/// devices, because some have no end, such as /dev/zero.
FdHandle open_regular(const fs::path& path) {
  FdHandle fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) fail_read(path, errno);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) fail_read(path, errno);
  if (S_ISDIR(info.st_mode)) fail_read(path, EISDIR);
  if (!S_ISREG(info.st_mode)) fail_read(path, "it is not a regular file", ExitCode::no_input);
  return fd;
}

/// Calls `use` with each block of the file in order.
template <class Use>
void for_each_block(const fs::path& path, Use use) {
  const FdHandle fd = open_regular(path);
  std::string block(kBlockBytes, '\0');
  for (;;) {
    mark_progress();
    const ssize_t n = ::read(fd.get(), block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_read(path, errno);
    if (n == 0) return;
    use(std::string_view(block.data(), static_cast<std::size_t>(n)));
  }
}

/// Returns the tables of slicing-by-8 for CRC-32C, which processes eight bytes per step.
std::array<std::array<std::uint32_t, 256>, 8> make_crc_tables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit)
      crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78U : 0U);
    tables[0][i] = crc;
  }
  for (std::size_t t = 1; t < 8; ++t) {
    for (std::size_t i = 0; i < 256; ++i)
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 255];
  }
  return tables;
}

}  // namespace

std::string read_file(const fs::path& path, std::uint64_t limit_bytes) {
  std::string text;
  for_each_block(path, [&](std::string_view block) {
    if (text.size() + block.size() > limit_bytes) {
      throw Failure(
          {"E603",
           ExitCode::data,
           "a file is larger than the " + std::to_string(limit_bytes) + " bytes that it may have",
           {"  --> " + path.string()},
           ""});
    }
    text += block;
  });
  return text;
}

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc) {
  static const auto kTables = make_crc_tables();
  const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(bytes[i]); };
  crc = ~crc;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint32_t mixed = 0;
    for (std::size_t i = 0; i < 4; ++i)
      mixed ^= kTables[7 - i][((crc >> (8 * i)) & 255) ^ at(i)] ^ kTables[3 - i][at(4 + i)];
    crc = mixed;
  }
  for (std::size_t i = 0; i < bytes.size(); ++i)
    crc = (crc >> 8) ^ kTables[0][(crc & 255) ^ at(i)];
  return ~crc;
}

std::uint32_t crc32c(std::string_view text, std::uint32_t crc) {
  return crc32c(std::as_bytes(std::span(text)), crc);
}

std::string sha256_hex(std::string_view text) {
  Sha256 digest;
  digest.add(text);
  return digest.hex();
}

std::string sha256_hex_of_file(const fs::path& path) {
  Sha256 digest;
  for_each_block(path, [&](std::string_view block) { digest.add(block); });
  return digest.hex();
}

}  // namespace mgpu
