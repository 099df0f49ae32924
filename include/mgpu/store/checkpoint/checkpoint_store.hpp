#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>
#include <mgpu/store/checkpoint/checkpoint_folder.hpp>

namespace mgpu::store {

/// The result of CheckpointStore::load_newest(), equal on all ranks.
struct Restored {
  std::optional<CheckpointState> state;  // empty: no checkpoint, start at step 0
  fs::path directory;                    // directory of the loaded checkpoint; empty: none
  std::vector<std::string> warnings;     // texts to print; W611 for each skipped checkpoint
};

/// Saves and restores the state of a training. Every rank of `group` (see the constructor) holds a
/// full copy of this state, as in DDP. Rank 0 writes and reads the files, and load_newest()
/// broadcasts the data to the other ranks.
///
/// Memory: all tensors have to be in host memory.
/// Ranks:  save() and load_newest() are collective over `group`.
/// Errors: save() and load_newest() throw the same CollectiveFailure on all ranks.
class CheckpointStore {
public:
  struct Options {
    int attempt = 0;  // number of this attempt, for the names of temporary files
    int keep = 3;     // newest checkpoints kept, >= 1; the best is kept as well
  };

  /// `group` has to outlive the store.
  CheckpointStore(const cluster::Group& group, const fs::path& run_directory, Options options);

  /// Writes the `content` of rank 0 to the disk, reads the files back, and only then gives the
  /// checkpoint its final name. A checkpoint of the same step is replaced. Afterwards removes all
  /// checkpoints except the newest Options::keep and the best. The arguments of the other ranks are
  /// ignored. Returns the checkpoint's directory on every rank.
  /// Errors: Failure E601 (cannot be created); E602 (write failed, such as on a full disk, exit
  ///         74); E611 when the disk returned other bytes than were written. Older checkpoints
  ///         stay intact.
  fs::path save(const CheckpointContent& content, bool is_best) const;

  /// Fills the tensors of every rank from the newest checkpoint that is intact. Damaged checkpoints
  /// are renamed to .bad, skipped and described in Restored::warnings.
  ///
  /// Shapes: all ranks pass tensors of equal names, shapes and types, which must equal those in the
  ///         checkpoint; none may be missing or extra.
  /// Errors: E611 (checkpoints exist, but all are damaged, exit 80). E612 (the checkpoint is of
  ///         another model, exit 73), with a table of the differences. E613 (newer format), E602
  ///         (write failed), E603 (read failed). After an error no tensor has changed, unless the
  ///         broadcast failed or delivered wrong bytes (E611).
  Restored load_newest(std::span<const formats::NamedTensor> model,
                       std::span<const formats::NamedTensor> trainer) const;

private:
  const cluster::Group* group_;
  CheckpointFolder folder_;
  int keep_;
};

}  // namespace mgpu::store
