#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/checkpoint_manifest.hpp>
#include <mgpu/store/checkpoint/checkpoint_folder.hpp>

namespace mgpu::store {
namespace {

constexpr std::uint64_t kMaxJsonBytes = std::uint64_t{64} << 20;

const formats::SafetensorsDigest& entry(const formats::CheckpointManifest& manifest,
                                        const fs::path& path) {
  const auto found = manifest.files.find(path.filename().string());
  if (found == manifest.files.end())
    formats::refuse_damaged_checkpoint(path, "the manifest does not list it");
  return found->second;
}

/// Releases the pages of a mapped file that lie within `bytes`; a later access reads them again.
void let_go(std::span<const std::byte> bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first = (begin + page - 1) / page * page;
  const std::uintptr_t end = (begin + bytes.size()) / page * page;
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

/// Returns the CRC-32C of `bytes`, a part of a mapped file, without keeping their pages in memory.
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
  for (const formats::StoredTensor& tensor : file.tensors())
    formats::check_tensor(file.path(), tensor.name, crc_of_mapped(tensor.bytes), expected);
  if (file.tensors().size() != expected.tensors.size()) {
    formats::refuse_damaged_checkpoint(file.path(), std::to_string(file.tensors().size()) +
                                                        " tensors, expected " +
                                                        std::to_string(expected.tensors.size()));
  }
}

std::unique_ptr<formats::SafetensorsFile> open_tensors(const fs::path& path,
                                                       const formats::SafetensorsDigest& expected) {
  formats::check_size(path, expected);
  auto file = formats::read_of_checkpoint(
      path, [&] { return std::make_unique<formats::SafetensorsFile>(path); });
  check_tensors(*file, expected);  // before check_sha256(), to name the damaged tensor
  formats::check_sha256(path, expected);
  return file;
}

/// Checks the size and SHA-256 of all files of the manifest except .safetensors files.
void check_other_files(const formats::CheckpointManifest& manifest, const fs::path& directory) {
  for (const auto& [name, digest] : manifest.files) {
    if (name.ends_with(".safetensors")) continue;
    formats::check_size(directory / name, digest);
    formats::check_sha256(directory / name, digest);
  }
}

}  // namespace

StoredCheckpoint::StoredCheckpoint(fs::path directory) : directory_(std::move(directory)) {
  const formats::CheckpointManifest manifest = formats::read_manifest(directory_);
  const fs::path state_path = directory_ / "state.json";
  entry(manifest, state_path);
  check_other_files(manifest, directory_);
  state_ = formats::read_of_checkpoint(
      state_path, [&] { return state_from_json(read_file(state_path, kMaxJsonBytes)); });
  if (state_.step != manifest.step) {
    formats::refuse_damaged_checkpoint(state_path, "step " + std::to_string(state_.step) +
                                                       ", the manifest says " +
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
