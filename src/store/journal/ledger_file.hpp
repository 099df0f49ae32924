#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <mgpu/base/file_io.hpp>

namespace mgpu::store {

/// Number of bytes at the start of a ledger file, before its frames.
inline constexpr std::size_t kFileHeadBytes = 16;

/// One intact frame of a ledger file: the chunk that it records, and where its payload is.
struct Frame {
  std::uint32_t attempt = 0;
  std::uint32_t phase = 0;
  std::uint64_t chunk = 0;
  std::uint64_t offset = 0;  // offset of the payload in the file, in bytes
  std::uint64_t length = 0;  // length of the payload in bytes
};

/// A range of bytes in a ledger file that holds no intact frame, although an intact frame follows
/// the range.
struct DamagedRange {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

struct LedgerScan {
  std::vector<Frame> frames;  // in file order
  std::vector<DamagedRange> damage;
};

/// A file that is open for reading at any offset.
/// Errors: Failure E603 if the file cannot be opened or is not a regular file.
class PositionedFile {
public:
  explicit PositionedFile(fs::path path);

  std::uint64_t size() const { return size_; }  // size in bytes when the file was opened

  /// Fills `into` with the bytes from `offset` on. Errors: Failure E603 (I/O), E604 (the file is
  /// too short).
  void read(std::uint64_t offset, std::span<std::byte> into) const;

private:
  fs::path path_;
  FdHandle fd_;
  std::uint64_t size_ = 0;
};

/// Returns the intact frames of `attempt` in a ledger file, and the damaged ranges. The time is
/// linear in the size of the file.
///
/// Bytes after the last intact frame are ignored, because a process that is killed during append()
/// leaves a torn frame there. Other bytes that belong to no intact frame form a damaged range.
///
/// Errors: Failure E603 (cannot be read), E604 (exit 80) when the file becomes shorter while it is
///         read, E605 (exit 65) when another version of the program wrote the file.
LedgerScan scan_ledger(const fs::path& path, std::uint32_t attempt);

/// Writes one ledger file. No other process or object may write the same file.
class LedgerWriter {
public:
  /// Creates the file, which must not exist. Errors: Failure E601 (cannot be created), E602 (write
  /// failed).
  LedgerWriter(fs::path path, std::uint32_t attempt, double sync_s);

  /// Writes a frame, and returns its ids and where its payload is. Syncs if the last sync was at
  /// least `sync_s` seconds ago.
  ///
  /// Errors: Failure E601 (cannot be opened), E602 (write failed). After a failure, the file may
  ///         end in a torn (incomplete) frame, and later calls of append() throw Error.
  Frame append(std::uint32_t phase, std::uint64_t chunk, std::span<const std::byte> payload);

  /// Syncs and closes the file; the next append() opens the file again.
  ///
  /// Errors: Failure E602 (write failed); Error if the file is open and an earlier call of append()
  ///         or close() failed.
  void close();

private:
  void open(DurableFile::Mode mode);

  fs::path path_;
  std::uint32_t attempt_;
  std::chrono::duration<double> sync_s_;
  std::optional<DurableFile> file_;
  std::uint64_t size_ = 0;
  bool usable_ = true;
  bool dirty_ = false;
  std::chrono::steady_clock::time_point last_sync_ = std::chrono::steady_clock::now();
};

}  // namespace mgpu::store
