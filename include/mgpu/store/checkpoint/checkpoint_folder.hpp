#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>
#include <mgpu/formats/safetensors.hpp>
#include <mgpu/store/checkpoint/checkpoint_state.hpp>

namespace mgpu::store {

/// The data that one checkpoint stores.
struct CheckpointContent {
  std::span<const formats::NamedTensor> model;    // parameters, by their names
  std::span<const formats::NamedTensor> trainer;  // optimizer moments and other state
  CheckpointState state;
  std::map<std::string, std::string> files{};  // name -> content: config.json and others
};

/// A checkpoint that was read completely and verified.
class StoredCheckpoint {
public:
  /// Reads and verifies the checkpoint in `directory`.
  /// Errors: Failure E611 (damaged, exit 80) with the file or tensor, what was expected and what
  ///         was found; E613 (newer format, exit 73); E603 with exit 74 (I/O error).
  explicit StoredCheckpoint(fs::path directory);

  const fs::path& directory() const { return directory_; }
  const CheckpointState& state() const { return state_; }
  const formats::SafetensorsFile& model() const { return *model_; }
  const formats::SafetensorsFile& trainer() const { return *trainer_; }

  /// model_digest() and trainer_digest() return size and SHA-256 of model.safetensors and of
  /// trainer.safetensors, with the CRC-32C of each tensor's data.
  const formats::SafetensorsDigest& model_digest() const { return model_digest_; }
  const formats::SafetensorsDigest& trainer_digest() const { return trainer_digest_; }

private:
  fs::path directory_;
  CheckpointState state_;
  std::unique_ptr<formats::SafetensorsFile> model_;
  std::unique_ptr<formats::SafetensorsFile> trainer_;
  formats::SafetensorsDigest model_digest_;
  formats::SafetensorsDigest trainer_digest_;
};

/// The folder `ckpt/` of a run directory. Only the rank that writes checkpoints uses it.
///
///   step_00021000/{model.safetensors, trainer.safetensors, state.json, MANIFEST.json, ...}
///   last -> step_00021000      best -> step_00018000
///   step_00022000.tmp.a0002    being written or removed, or left over from attempt 2
///   step_00021000.old.a0002    being replaced
///   step_00019000.bad          damaged; kept for inspection, never read again
///
/// The process may die at any time. After the next tidy(), every finished checkpoint is complete.
/// If the replacement of a checkpoint was interrupted, the old or the new one remains.
class CheckpointFolder {
public:
  /// `attempt` is the number of this attempt, for the names of temporary files. The constructor
  /// touches no file.
  CheckpointFolder(const fs::path& run_directory, int attempt);

  /// Returns the directories of all finished checkpoints, newest first.
  std::vector<fs::path> finished() const;

  /// Returns the directories of damaged checkpoints, which set_aside() has renamed to .bad.
  std::vector<fs::path> bad() const;

  /// Removes temporary files of saves that did not finish, and restores a checkpoint whose
  /// replacement was not finished.
  /// Errors: Failure E602 (write failed).
  void tidy() const;

  /// Writes and syncs a checkpoint, then reads it back. Returns the checkpoint's directory, which
  /// still has a temporary name. After an error, the directory is removed.
  /// Errors: Failure E601 (cannot be created), E602 (write failed); E611 when the bytes that are
  ///         read back differ.
  fs::path write(const CheckpointContent& content) const;

  /// Gives its final name to the directory `written`, which write() returned. Replaces an existing
  /// checkpoint of the same step. Points the link `last` to the checkpoint, and if `is_best`, also
  /// the link `best`. Returns the final path.
  /// Errors: Failure E602 (write failed).
  fs::path publish(const fs::path& written, bool is_best) const;

  /// Removes all checkpoints except the newest `keep` and the one to which the link `best` points.
  /// Errors: Failure E602 (write failed).
  void prune(int keep) const;

  /// Appends .bad (or .bad2, .bad3, ... if that name exists) to the name of a damaged checkpoint's
  /// directory, and returns the new path. Removes the links `last` and `best` if they point to
  /// `damaged`, then points `last` to the newest remaining checkpoint.
  /// Errors: Failure E602 (write failed).
  fs::path set_aside(const fs::path& damaged) const;

private:
  std::string suffix(const char* kind) const;
  void point(const char* link, const fs::path& target) const;

  fs::path folder_;
  int attempt_;
};

}  // namespace mgpu::store
