#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include <mgpu/base/file_io.hpp>

namespace mgpu::input {

/// Size and modification time of a file. They identify the version of the file, unless a process is
/// writing to it.
struct FileStamp {
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

/// A file that is read at given offsets, and must not change while it is open.
class DataFile {
public:
  /// Opens the file.
  /// Errors: Failure E603 (exit 66) if the file is missing, unreadable, or not a regular file. The
  ///         report names this host.
  explicit DataFile(fs::path path);

  const fs::path& path() const { return path_; }
  const FileStamp& stamp() const { return stamp_; }

  /// Reads bytes of the file from `offset` on, until `bytes` is full or the file ends. Returns the
  /// number of bytes read.
  /// Errors: Failure E603 (cannot be read, exit 74), E534 (the file has changed, exit 65).
  std::size_t read(std::uint64_t offset, std::span<char> bytes) const;

  /// Reads the whole file in blocks of 1 MiB, and calls `use` with each block in order.
  /// Errors: those of read().
  void for_each_block(const std::function<void(std::string_view)>& use) const;

  /// Throws Failure E534 (exit 65) when the file has changed since it was opened.
  void check_unchanged() const;

  /// Checks that the file on this host has the size and modification time of `elsewhere`, the stamp
  /// that rank 0 found.
  /// Errors: Failure E534 (exit 65) if the size or the modification time differs.
  void check_same(const FileStamp& elsewhere) const;

  /// Returns a duplicate of the file descriptor, for a library that closes the duplicate. Errors:
  /// Failure E603.
  int descriptor_copy() const;

private:
  FileStamp stamp_now() const;

  fs::path path_;
  FdHandle fd_;
  FileStamp stamp_;
};

}  // namespace mgpu::input
