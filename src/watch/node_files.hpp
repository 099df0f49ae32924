#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>

#include "shared_state.hpp"

namespace mgpu::watch {

/// Lets the nodes of a run see each other: each node has a file in the run directory, which holds
/// the slots of its ranks and is rewritten every second. It uses no MPI and no sockets.
class NodeFiles {
public:
  struct Layout {
    fs::path directory;     // created if missing
    std::uint64_t run = 0;  // distinguishes the files of this start from older ones
    int own_node = 0;
    std::vector<std::vector<int>> ranks_of;  // world ranks of each node
  };

  explicit NodeFiles(Layout layout);

  /// Publishes this node's slots and verdict. File system errors are ignored, because the other
  /// nodes then notice that the file no longer changes.
  void publish(const SharedState& shared);

  struct Update {
    bool is_new = false;  // changed since the last read
    int verdict = Verdict::none;
    std::string text{};  // text of the verdict
  };
  /// Copies the data that a node has published into the slots of its ranks.
  Update read(int node, const SharedState& shared);

  /// Removes this node's file, once all its ranks have ended normally.
  void remove() noexcept;

private:
  fs::path file_of(int node) const;
  std::size_t bytes_of(int node) const;

  Layout layout_;
  std::uint64_t published_ = 0;
  std::vector<std::uint64_t> last_read_;  // sequence number last read, by node
};

}  // namespace mgpu::watch
