#include "ledger_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/byte_order.hpp>

namespace mgpu::store {
namespace {

// A ledger file begins with kFileMagic, the version as u32, and the CRC-32C of these 12 bytes as
// u32. The frames follow. Each frame consists of a head and a payload. The head has these fields:
// - kFrameMagic, u32
// - CRC-32C of the 32 bytes of the head that follow, u32
// - attempt, u32
// - phase, u32
// - chunk, u64
// - length of the payload in bytes, u64
// - CRC-32C of the payload, u32
// - zero, u32
//
// The head has a separate CRC, so that a reader can check the length before it reads the payload.
constexpr std::string_view kFileMagic = "mgpuledg";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kFrameMagic = 0x464C474DU;  // "MGLF"
constexpr std::size_t kFrameHeadBytes = 40;
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

std::vector<std::byte> file_head() {
  std::vector<std::byte> head;
  for (const char c : kFileMagic)
    formats::put(head, c);
  formats::put(head, kVersion);
  formats::put(head, crc32c(head));
  return head;
}

std::vector<std::byte> frame_head(std::uint32_t attempt, std::uint32_t phase, std::uint64_t chunk,
                                  std::span<const std::byte> payload) {
  std::vector<std::byte> head;
  head.reserve(kFrameHeadBytes + payload.size());
  formats::put(head, kFrameMagic);
  formats::put(head, std::uint32_t{0});
  formats::put(head, attempt);
  formats::put(head, phase);
  formats::put(head, chunk);
  formats::put(head, std::uint64_t{payload.size()});
  formats::put(head, crc32c(payload));
  formats::put(head, std::uint32_t{0});
  const std::uint32_t crc = crc32c(std::span<const std::byte>(head).subspan(8));
  std::memcpy(head.data() + 4, &crc, sizeof crc);
  return head;
}

/// Scans one ledger file from front to back.
class Scanner {
public:
  Scanner(const PositionedFile& file, std::uint32_t attempt) : file_(file), attempt_(attempt) {}

  LedgerScan run() {
    std::uint64_t at = kFileHeadBytes;
    while (at < file_.size()) {
      if (const std::optional<Frame> frame = frame_at(at)) {
        scan_.frames.push_back(*frame);
        at = frame->offset + frame->length;
        continue;
      }
      const std::uint64_t next = next_frame(at + 1);
      if (next < file_.size()) scan_.damage.push_back({at, next - at});
      at = next;
    }
    return std::move(scan_);
  }

private:
  /// Returns the frame whose head starts at `at`; nullopt unless its head and payload are intact
  /// and its attempt is attempt_.
  std::optional<Frame> frame_at(std::uint64_t at) const {
    if (file_.size() - at < kFrameHeadBytes) return std::nullopt;
    std::array<std::byte, kFrameHeadBytes> bytes{};
    file_.read(at, bytes);
    std::span<const std::byte> head(bytes);
    if (formats::take<std::uint32_t>(head) != kFrameMagic) return std::nullopt;
    if (formats::take<std::uint32_t>(head) != crc32c(head)) return std::nullopt;
    Frame frame{.attempt = formats::take<std::uint32_t>(head),
                .phase = formats::take<std::uint32_t>(head),
                .chunk = formats::take<std::uint64_t>(head),
                .offset = at + kFrameHeadBytes,
                .length = formats::take<std::uint64_t>(head)};
    const bool fits = frame.length <= file_.size() - frame.offset;
    if (!fits || frame.attempt != attempt_) return std::nullopt;
    if (payload_crc(frame) != formats::take<std::uint32_t>(head)) return std::nullopt;
    return frame;
  }

  std::uint32_t payload_crc(const Frame& frame) const {
    std::vector<std::byte> block(std::min<std::uint64_t>(frame.length, kBlockBytes));
    std::uint32_t crc = 0;
    for (std::uint64_t done = 0; done < frame.length;) {
      const std::uint64_t n = std::min<std::uint64_t>(frame.length - done, kBlockBytes);
      const std::span<std::byte> part(block.data(), n);
      file_.read(frame.offset + done, part);
      crc = crc32c(part, crc);
      done += n;
    }
    return crc;
  }

  /// Returns the offset of the first intact frame at or after `at`; the file's size if no such
  /// frame exists.
  std::uint64_t next_frame(std::uint64_t at) const {
    std::vector<std::byte> block;
    while (file_.size() - std::min(at, file_.size()) >= kFrameHeadBytes) {
      block.resize(std::min<std::uint64_t>(file_.size() - at, kBlockBytes));
      file_.read(at, block);
      for (std::size_t i = 0; i + sizeof kFrameMagic <= block.size(); ++i) {
        std::uint32_t word = 0;
        std::memcpy(&word, block.data() + i, sizeof word);
        if (word == kFrameMagic && frame_at(at + i)) return at + i;
      }
      at += block.size() - (sizeof kFrameMagic - 1);  // the magic number may lie across two blocks
    }
    return file_.size();
  }

  const PositionedFile& file_;
  std::uint32_t attempt_;
  LedgerScan scan_;
};

}  // namespace

PositionedFile::PositionedFile(fs::path path) : path_(std::move(path)) {
  const auto fail = [&](int error, const char* why) {
    throw Failure({"E603",
                   error == EIO ? ExitCode::io : ExitCode::no_input,
                   std::string("cannot read a ledger: ") + why,
                   {"  --> " + path_.string()},
                   ""});
  };
  // Without O_NONBLOCK, opening a pipe with this name would block until a writer opens the pipe.
  fd_.reset(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd_ || ::fstat(fd_.get(), &info) != 0) fail(errno, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) fail(0, "it is not a regular file");
  size_ = static_cast<std::uint64_t>(info.st_size);
}

void PositionedFile::read(std::uint64_t offset, std::span<std::byte> into) const {
  while (!into.empty()) {
    const ssize_t n = ::pread(fd_.get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      throw Failure({n == 0 ? "E604" : "E603",
                     n == 0 ? ExitCode::corrupt : ExitCode::io,
                     std::string("cannot read a ledger: ") +
                         (n == 0 ? "it is shorter than it was" : std::strerror(errno)),
                     {"  --> " + path_.string()},
                     ""});
    }
    into = into.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
}

LedgerScan scan_ledger(const fs::path& path, std::uint32_t attempt) {
  const PositionedFile file(path);
  if (file.size() < kFileHeadBytes) return {};  // the writer was killed while creating the file
  std::vector<std::byte> head(kFileHeadBytes);
  file.read(0, head);
  LedgerScan scan = Scanner(file, attempt).run();
  if (head == file_head()) return scan;
  const bool whole = crc32c(std::span(head).first(12)) == [&] {
    std::span<const std::byte> crc = std::span(head).subspan(12);
    return formats::take<std::uint32_t>(crc);
  }();
  if (whole) {
    throw Failure({"E605",
                   ExitCode::data,
                   "a ledger was written by another version of this program",
                   {"  --> " + path.string()},
                   "finish the run with the version that began it, or start anew: --resume=never"});
  }
  if (scan.frames.empty()) return {};  // power was lost before the first sync of the file
  scan.damage.insert(scan.damage.begin(), {0, kFileHeadBytes});
  return scan;
}

LedgerWriter::LedgerWriter(fs::path path, std::uint32_t attempt, double sync_s)
    : path_(std::move(path)), attempt_(attempt), sync_s_(sync_s) {
  open(DurableFile::Mode::create_new);
  file_->write(file_head());
  size_ = kFileHeadBytes;
  dirty_ = true;
  close();
}

void LedgerWriter::open(DurableFile::Mode mode) {
  file_.emplace(path_, "ledger", mode);
}

Frame LedgerWriter::append(std::uint32_t phase, std::uint64_t chunk,
                           std::span<const std::byte> payload) {
  if (!usable_) throw Error("a ledger that could not be written takes no more frames");
  usable_ = false;
  if (!file_) open(DurableFile::Mode::append);
  std::vector<std::byte> bytes = frame_head(attempt_, phase, chunk, payload);
  const Frame frame{attempt_, phase, chunk, size_ + bytes.size(), payload.size()};
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  file_->write(bytes);
  size_ += bytes.size();
  dirty_ = true;
  const auto now = std::chrono::steady_clock::now();
  if (now - last_sync_ >= sync_s_) {
    file_->sync();
    dirty_ = false;
    last_sync_ = now;
  }
  usable_ = true;
  return frame;
}

void LedgerWriter::close() {
  if (!file_) return;
  if (!usable_) throw Error("a ledger that could not be written cannot be closed as good");
  usable_ = false;
  if (dirty_) file_->sync();
  file_->close();
  file_.reset();
  dirty_ = false;
  last_sync_ = std::chrono::steady_clock::now();
  usable_ = true;
}

}  // namespace mgpu::store
