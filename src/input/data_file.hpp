#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include <mgpu/base/file_io.hpp>

namespace mgpu::input {

/// How the system knows a file that nobody writes to.
struct FileStamp {
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

/// A file that is read by position, and has to stay as it is meanwhile.
class DataFile {
public:
  /// Errors: Failure E603 (missing or unreadable, exit 66; with the name of this host).
  explicit DataFile(fs::path path);

  const fs::path& path() const { return path_; }
  const FileStamp& stamp() const { return stamp_; }

  /// The bytes from `offset` on, as many as fit: fewer than asked for only at the end.
  /// Errors: Failure E603 (exit 74), E534.
  std::size_t read(std::uint64_t offset, std::span<char> bytes) const;

  /// Calls `use` with each block of the file in order. Errors: those of read().
  void for_each_block(const std::function<void(std::string_view)>& use) const;

  /// Errors: Failure E534 (exit 65) when the file is another one than when it was opened.
  void check_unchanged() const;

  /// The same for what another rank found. Errors: Failure E534.
  void check_same(const FileStamp& elsewhere) const;

  /// For a library that closes what it gets. Errors: Failure E603.
  int descriptor_copy() const;

private:
  FileStamp stamp_now() const;

  fs::path path_;
  FdHandle fd_;
  FileStamp stamp_;
};

}  // namespace mgpu::input
