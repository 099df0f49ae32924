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

/// A file for writing. The bytes that were written before sync() survive a crash. The constructor
/// first calls failpoint("<what>.create"). The functions write(), sync(), reserve() and close()
/// first call failpoint("<what>.<function>"), for example failpoint("ledger.write").
///
/// Errors: Failure E601 (cannot be created, exit 73) or E602 (I/O error or full disk, exit 74)
///         with path, errno text, and for a full disk the bytes needed and free. A failed sync
///         is never retried: the kernel may have dropped the unwritten data.
class DurableFile {
public:
  enum class Mode { create_new, append, replace };

  /// `what` names the kind of file in failpoints and messages: "ledger", "checkpoint", ...
  DurableFile(fs::path path, std::string what, Mode mode);

  /// Writes all of `bytes` or throws. After an exception the file may end in an incomplete write.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);

  /// Calls fdatasync.
  void sync();

  /// Reserves disk space for `bytes` bytes after the end of the file, without changing the size of
  /// the file (fallocate KEEP_SIZE). On file systems without fallocate, compares `bytes` with the
  /// free space instead.
  void reserve(std::uint64_t bytes);

  void close();
  const fs::path& path() const { return path_; }

private:
  fs::path path_;
  std::string what_;
  FdHandle fd_;
};

/// Renames `from` to `to`, then syncs the directory of `to`. A process that reads `to` sees either
/// the old file or the complete new one.
/// Failpoints: <what>.rename, <what>.dirsync
/// Errors: Failure E602 (I/O error or full disk).
void rename_durably(const fs::path& from, const fs::path& to, std::string_view what);

/// Calls fsync for an existing file or directory.
/// Failpoints: <what>.dirsync
/// Errors: Failure E602 (I/O error).
void sync_path(const fs::path& path, std::string_view what);

/// Writes `text` to a temporary file next to `path`, syncs it and renames it to `path`.
/// Errors: Failure E601 (cannot be created), E602 (I/O error or full disk).
void write_file_durably(const fs::path& path, std::string_view text, std::string_view what);

/// Returns the content of a regular file.
/// Errors: Failure E603 if the file is missing or unreadable (exit 66; exit 74 after an I/O error),
///         or larger than `limit_bytes` (exit 65).
std::string read_file(const fs::path& path, std::uint64_t limit_bytes = UINT64_MAX);

/// Returns the CRC-32C (Castagnoli) of `bytes`. To continue a checksum, pass the CRC-32C of the
/// preceding bytes as `crc`. The result then covers the preceding bytes and `bytes`.
/// Source: RFC 3720, B.4.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);
std::uint32_t crc32c(std::string_view text, std::uint32_t crc = 0);

/// Returns the SHA-256 of `text` in lower-case hexadecimal. Source: FIPS 180-4 (through OpenSSL).
std::string sha256_hex(std::string_view text);
/// Returns the SHA-256 of a file in lower-case hexadecimal. Reads the file in blocks.
/// Errors: Failure E603 if the file is missing or unreadable.
std::string sha256_hex_of_file(const fs::path& path);

}  // namespace mgpu
