#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <mgpu/base/unique_handle.hpp>

namespace mgpu {

namespace fs = std::filesystem;

struct FdTraits {
  using Raw = int;
  static constexpr bool kCollective = false;
  static Raw null() noexcept { return -1; }
  static void destroy(Raw fd) noexcept;
};
using FdHandle = UniqueHandle<FdTraits>;

/// A file that is being written for keeps. Every call stands behind a failpoint named
/// "<what>.<call>", e.g. "ledger.write", "checkpoint.sync", "results.rename".
///
/// Errors: Failure E601 (cannot be created, exit 73) or E602 (I/O error or full disk, exit 74)
///         with path, errno text, and for a full disk the bytes needed and free. A failed sync
///         is never retried: the kernel may have dropped the pages.
class DurableFile {
public:
  enum class Mode { create_new, append, replace };

  /// `what` names the kind of file in failpoints and messages: "ledger", "checkpoint", ...
  DurableFile(fs::path path, std::string what, Mode mode);

  /// All of `bytes`, or an exception; a torn tail may stay behind then.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);

  /// fdatasync.
  void sync();

  /// Reserves disk space behind the end without changing the size (fallocate KEEP_SIZE); falls
  /// back to comparing with the free space where the file system cannot.
  void reserve(std::uint64_t bytes);

  void close();
  const fs::path& path() const { return path_; }

private:
  fs::path path_;
  std::string what_;
  FdHandle fd_;
};

/// rename, then fsync of the directory: readers see the old file or the whole new one.
/// Failpoints "<what>.rename" and "<what>.dirsync". Errors: E602.
void rename_durably(const fs::path& from, const fs::path& to, std::string_view what);

/// fsync of an existing path (file or directory). Failpoint "<what>.dirsync". Errors: E602.
void sync_path(const fs::path& path, std::string_view what);

/// Writes `text` to a temporary name beside `path`, syncs, renames. Errors: E601, E602.
void write_file_durably(const fs::path& path, std::string_view text, std::string_view what);

/// The whole file. Errors: Failure E603 (missing or unreadable, exit 66), or larger than
/// `limit_bytes` (exit 65).
std::string read_file(const fs::path& path, std::uint64_t limit_bytes = UINT64_MAX);

/// CRC-32C (Castagnoli) of `bytes`, continuing from `crc` (0 to begin). Source: RFC 3720, B.4.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);
std::uint32_t crc32c(std::string_view text, std::uint32_t crc = 0);

/// Lower-case hexadecimal SHA-256. Source: FIPS 180-4 (through OpenSSL).
std::string sha256_hex(std::string_view text);
/// The same over a file, read in blocks. Errors: as read_file.
std::string sha256_hex_of_file(const fs::path& path);

}  // namespace mgpu
