#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/file_io.hpp>

#include "watch_page.hpp"

namespace mgpu::watch {

/// How the nodes of a run see each other: a file each in the run directory, which holds the slots
/// of the node's ranks and is written anew every second. No MPI, no sockets.
class NodeFiles {
public:
  struct Layout {
    fs::path directory;     // made when it is not there
    std::uint64_t run = 0;  // tells the files of this start from older ones
    int own_node = 0;
    std::vector<std::vector<int>> ranks_of;  // world ranks of each node
  };

  explicit NodeFiles(Layout layout);

  /// Tells the others what this node's slots hold, and its verdict. Failures of the file system are
  /// left to the others to notice.
  void tell(const WatchPage& page);

  struct Heard {
    bool is_new = false;  // since the last look
    int verdict = Verdict::none;
    std::string text{};  // of the verdict
  };
  /// Puts what a node told into its slots.
  Heard hear(int node, const WatchPage& page);

  /// Removes this node's file: when all its ranks have ended in order.
  void remove() noexcept;

private:
  fs::path file_of(int node) const;
  std::size_t bytes_of(int node) const;

  Layout layout_;
  std::uint64_t told_ = 0;
  std::vector<std::uint64_t> heard_;  // number of the last writing, by node
};

}  // namespace mgpu::watch
