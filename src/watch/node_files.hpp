#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>

#include "shared_state.hpp"

namespace mgpu::watch {

/// Lets the nodes of a run see each other, without MPI or sockets. Each node has a file in
/// Layout::directory. About once a second, the node writes the slots (Slot) of its ranks to this
/// file, and reads the files of the other nodes.
class NodeFiles {
public:
  struct Layout {
    fs::path directory;     // created if missing
    std::uint64_t run = 0;  // id of this attempt; files of other attempts are ignored
    int own_node = 0;
    std::vector<std::vector<int>> ranks_of;  // world ranks of each node
  };

  explicit NodeFiles(Layout layout);

  /// Writes the slots of this node's ranks, and the verdict, to this node's file. File system
  /// errors are ignored, because the other nodes notice when the file no longer changes.
  void publish(const SharedState& shared);

  struct Update {
    bool is_new = false;  // true: the file is complete, and has changed since the last read()
    int verdict = Verdict::none;
    std::string text{};  // text of the verdict; "" until the verdict is published
  };
  /// Reads the file of a node. If the file is complete and has changed since the last read(),
  /// copies its data into the slots of that node's ranks.
  Update read(int node, const SharedState& shared);

  /// Removes this node's file, and also Layout::directory if no file of another node is left. Call
  /// it when all ranks of the node have ended normally.
  void remove() noexcept;

private:
  fs::path file_of(int node) const;
  std::size_t bytes_of(int node) const;

  Layout layout_;
  std::uint64_t published_ = 0;
  std::vector<std::uint64_t> last_read_;  // Header::number in each node's file at the last read()
};

}  // namespace mgpu::watch
