#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/checkpoint/checkpoint_folder.hpp>

namespace mgpu::store {

/// The result of load_newest(), the same on every rank.
struct Restored {
  std::optional<CheckpointState> state;  // empty: no checkpoint, start at step 0
  fs::path directory;                    // of the checkpoint that was loaded
  std::vector<std::string> warnings;     // lines; W611 for each damaged checkpoint that was skipped
};

/// Saves and restores training that is replicated over a group (DDP). Rank 0 holds the data to save
/// and reads the data to restore; the others receive it by broadcast.
///
/// Memory: all tensors in host memory.
/// Ranks:  save() and load_newest() are collective over the group.
/// Errors: every failure is the same Failure on all ranks (CollectiveFailure).
class CheckpointStore {
public:
  struct Options {
    int attempt = 0;  // number of this start of the run, for the names of temporary files
    int keep = 3;     // newest checkpoints kept, >= 1; the best is kept as well
  };

  /// `group` has to outlive the store.
  CheckpointStore(const cluster::Group& group, const fs::path& run_directory, Options options);

  /// Saves rank 0's content, reads it back, and only then renames it to its final name. Then
  /// removes the checkpoints that are not kept. Replaces a checkpoint of the same step. Only rank
  /// 0's `content` and `is_best` count. Returns the directory on every rank.
  /// Errors: E601, E602 (full disk, exit 74: older checkpoints stay intact), E611 when the disk
  ///         returned other bytes than were written.
  fs::path save(const CheckpointContent& content, bool is_best) const;

  /// Fills the tensors of every rank from the newest checkpoint that is intact. Damaged ones are
  /// renamed to .bad, skipped and described in the warnings.
  ///
  /// Shapes: names, shapes and types of `model` and `trainer` are those of the run's model, the
  ///         same on all ranks. They must equal the checkpoint's, with none missing and none extra.
  /// Errors: E611 (checkpoints exist, but all are damaged, exit 80), E612 (the checkpoint is of
  ///         another model, exit 73) with a table, E613 (newer format), E602, E603. After an error
  ///         no tensor has changed, except when a broadcast failed (E611).
  Restored load_newest(std::span<const formats::NamedTensor> model,
                       std::span<const formats::NamedTensor> trainer) const;

private:
  const cluster::Group* group_;
  CheckpointFolder folder_;
  int keep_;
};

}  // namespace mgpu::store
