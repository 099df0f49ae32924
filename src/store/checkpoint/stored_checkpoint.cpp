#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/store/checkpoint/checkpoint_folder.hpp>

#include "checkpoint_manifest.hpp"

namespace mgpu::store {
namespace {

constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{64} << 20;

[[noreturn]] void refuse_damaged(const fs::path& path, const std::string& evidence) {
  throw Failure({"E611",
                 ExitCode::corrupt,
                 "a checkpoint is damaged",
                 {"  --> " + path.string(), "  " + evidence},
                 ""});
}

/// Runs `read`. Wrong bytes are reported as damage, errors of the disk are not.
template <class Read>
auto read_stored(const fs::path& path, Read read) {
  try {
    return read();
  } catch (const Failure& failure) {
    if (failure.exit_code() == ExitCode::io) throw;
    refuse_damaged(path, failure.report().sentence);
  } catch (const Error& error) {
    refuse_damaged(path, std::string("not readable: ") + error.what());
  }
}

std::string hex_number(std::uint32_t value) {
  char text[11];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

CheckpointManifest read_manifest(const fs::path& path) {
  CheckpointManifest manifest =
      read_stored(path, [&] { return manifest_from_json(read_file(path, kMaxJsonBytes)); });
  if (manifest.format_version > kCheckpointFormat) {
    throw Failure({"E613",
                   ExitCode::cannot_create,
                   "a checkpoint has format " + std::to_string(manifest.format_version) +
                       ", this program reads up to " + std::to_string(kCheckpointFormat),
                   {"  --> " + path.string()},
                   "use the newer program that wrote it, or --resume=never to start afresh"});
  }
  return manifest;
}

const formats::SafetensorsDigest& entry(const CheckpointManifest& manifest, const fs::path& path) {
  const auto found = manifest.files.find(path.filename().string());
  if (found == manifest.files.end()) refuse_damaged(path, "the manifest does not list it");
  return found->second;
}

void check_size(const fs::path& path, const formats::SafetensorsDigest& expected) {
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(path, error);
  if (error) refuse_damaged(path, error.message());
  if (bytes != expected.bytes) {
    refuse_damaged(path, "it has " + std::to_string(bytes) + " bytes, expected " +
                             std::to_string(expected.bytes));
  }
}

void check_sha256(const fs::path& path, const formats::SafetensorsDigest& expected) {
  const std::string found = read_stored(path, [&] { return sha256_hex_of_file(path); });
  if (found != expected.sha256) {
    refuse_damaged(path, "SHA-256 expected " + expected.sha256 + ", found " + found);
  }
}

/// Releases the pages of a mapped file that lie within `bytes`; a later access reads them again.
void let_go(std::span<const std::byte> bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t end = (begin + bytes.size()) / page * page;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

/// Returns the CRC of a part of a mapped file, without keeping its pages in memory.
std::uint32_t crc_of_mapped(std::span<const std::byte> bytes) {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    const std::span<const std::byte> piece = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
    crc = crc32c(piece, crc);
    let_go(piece);
  }
  return crc;
}

void check_tensors(const formats::SafetensorsFile& file,
                   const formats::SafetensorsDigest& expected) {
  for (const formats::StoredTensor& tensor : file.tensors()) {
    const auto found = expected.tensors.find(tensor.name);
    if (found == expected.tensors.end()) {
      refuse_damaged(file.path(), "tensor `" + tensor.name + "` is not in the manifest");
    }
    const std::uint32_t crc = crc_of_mapped(tensor.bytes);
    if (crc != found->second) {
      refuse_damaged(file.path(), "tensor `" + tensor.name + "`: CRC-32C expected " +
                                      hex_number(found->second) + ", found " + hex_number(crc));
    }
  }
  if (file.tensors().size() != expected.tensors.size()) {
    refuse_damaged(file.path(), std::to_string(file.tensors().size()) + " tensors, expected " +
                                    std::to_string(expected.tensors.size()));
  }
}

std::unique_ptr<formats::SafetensorsFile> open_tensors(const fs::path& path,
                                                       const formats::SafetensorsDigest& expected) {
  check_size(path, expected);
  auto file = read_stored(path, [&] { return std::make_unique<formats::SafetensorsFile>(path); });
  check_tensors(*file, expected);  // checked first, because it can name the damaged tensor
  check_sha256(path, expected);
  return file;
}

/// Checks the other files that a job added to the checkpoint.
void check_other_files(const CheckpointManifest& manifest, const fs::path& directory) {
  for (const auto& [name, digest] : manifest.files) {
    if (name.ends_with(".safetensors")) continue;
    check_size(directory / name, digest);
    check_sha256(directory / name, digest);
  }
}

}  // namespace

StoredCheckpoint::StoredCheckpoint(fs::path directory) : directory_(std::move(directory)) {
  const CheckpointManifest manifest = read_manifest(directory_ / "MANIFEST.json");
  const fs::path state_path = directory_ / "state.json";
  entry(manifest, state_path);
  check_other_files(manifest, directory_);
  state_ = read_stored(state_path,
                       [&] { return state_from_json(read_file(state_path, kMaxJsonBytes)); });
  if (state_.step != manifest.step) {
    refuse_damaged(state_path, "step " + std::to_string(state_.step) + ", the manifest says " +
                                   std::to_string(manifest.step));
  }
  const fs::path model_path = directory_ / "model.safetensors";
  const fs::path trainer_path = directory_ / "trainer.safetensors";
  model_digest_ = entry(manifest, model_path);
  trainer_digest_ = entry(manifest, trainer_path);
  model_ = open_tensors(model_path, model_digest_);
  trainer_ = open_tensors(trainer_path, trainer_digest_);
}

}  // namespace mgpu::store
