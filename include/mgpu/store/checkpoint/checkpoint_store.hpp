#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/checkpoint/checkpoint_folder.hpp>

namespace mgpu::store {

/// What load_newest() found; the same on every rank.
struct Restored {
  std::optional<CheckpointState> state;  // none: there is no checkpoint, start at step 0
  fs::path directory;                    // of the checkpoint that was loaded
  std::vector<std::string> warnings;     // lines; W611 for each damaged checkpoint that was skipped
};

/// Saves and restores training that is replicated over a group (DDP): rank 0 holds what is saved
/// and reads what is restored, the others receive it by broadcast.
///
/// Memory: all tensors in host memory.
/// Ranks:  save() and load_newest() are collective over the group.
/// Errors: every failure is the same Failure on all ranks (TogetherError).
class CheckpointStore {
public:
  struct Options {
    int attempt = 0;  // which start of the run this is: names temporary files
    int keep = 3;     // newest checkpoints kept, >= 1; the best is kept as well
  };

  /// `group` outlives the store.
  CheckpointStore(const cluster::Group& group, const fs::path& run_directory, Options options);

  /// Saves rank 0's content, read back before it gets its name; then removes what is not kept.
  /// A checkpoint of the same step is replaced. Only rank 0's `content` and `is_best` count.
  /// Returns the directory on every rank.
  /// Errors: E601, E602 (full disk, exit 74: older checkpoints are as they were), E611 when the
  ///         disk gave back other bytes than were written.
  fs::path save(const CheckpointContent& content, bool is_best) const;

  /// Fills the tensors of every rank from the newest checkpoint that is whole. Damaged ones are
  /// renamed to .bad, skipped and described in the warnings.
  ///
  /// Shapes: names, shapes and types of `model` and `trainer` are those of the run's own model,
  ///         alike on all ranks; they must be the checkpoint's, none missing and none over.
  /// Errors: E611 (checkpoints were there, none is whole, exit 80), E612 (of another model, exit
  ///         73) with a table, E613 (newer format), E602, E603. No tensor is touched then, except
  ///         when a broadcast itself went wrong (E611).
  Restored load_newest(std::span<const formats::NamedTensor> model,
                       std::span<const formats::NamedTensor> trainer) const;

private:
  const cluster::Group* group_;
  CheckpointFolder folder_;
  int keep_;
};

}  // namespace mgpu::store
