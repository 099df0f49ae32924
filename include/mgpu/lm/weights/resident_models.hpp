#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/cluster/group.hpp>

namespace mgpu::lm {

/// Keeps one read-only copy of the weights of each model folder in the memory of a node. The first
/// rank that opens a folder reads its files into the memory that all ranks of the node share. Ranks
/// may open a folder at any time. A rank that opens a folder while another rank reads it waits
/// until that rank has finished.
///
/// A folder is read again after a file in it has changed, or after its weights were dropped because
/// the node had too little memory and no rank used them.
///
/// Memory: on each node the float32 tensors of each folder, until drop_unused() frees them.
///         The tensors are also freed when all ranks of the node have destroyed their
///         ResidentModels and the tensors from open().
/// Ranks:  the constructor is collective over the ranks of a node; any rank may call the other
///         functions alone.
class ResidentModels {
public:
  /// Makes the memory that the ranks of a node share.
  /// Errors: Error if the system cannot make anonymous files (memfd_create).
  explicit ResidentModels(const cluster::Group& node);
  ~ResidentModels();
  ResidentModels(const ResidentModels&) = delete;
  ResidentModels& operator=(const ResidentModels&) = delete;

  /// Returns the tensors of a folder as float32 on the CPU, with the given shapes, in the order of
  /// `shapes`. Calls `read`, which has to fill the tensors, only if the node has no copy with these
  /// shapes, or if the folder has changed since the copy was made. If the free memory is less than
  /// twice the size of the tensors, open() runs drop_unused() before it calls `read`.
  ///
  /// Errors: whatever `read` throws. If `read` throws on one rank, a rank that was waiting calls
  ///         its own `read`. Error if the node already stores 4096 models and texts, or if a system
  ///         call fails.
  std::vector<at::Tensor> open(
      const std::filesystem::path& folder, const std::vector<std::vector<std::int64_t>>& shapes,
      const std::function<void(std::span<const at::Tensor> tensors)>& read);

  /// Returns a text about a folder. On each node, only the first rank that calls about() for the
  /// folder calls make(), which returns the text. Later calls on any rank return a copy of this
  /// text. If a file in the folder has changed, the next call of about() calls make() again.
  ///
  /// Errors: whatever make() throws. If make() throws on one rank, a rank that was waiting calls
  ///         its own make(). Error if the text is longer than 400 bytes, or if the node already
  ///         stores 4096 models and texts.
  std::string about(const std::filesystem::path& folder, const std::function<std::string()>& make);

  /// Frees the weights of folders that no rank of the node uses, the least recently used first. The
  /// function stops when it has freed at least `bytes`, or when all weights are in use. Returns how
  /// many bytes were freed. Errors: Error if a system call fails.
  std::uint64_t drop_unused(std::uint64_t bytes);

  /// Returns by how many bytes the free memory of the node is below `bytes`; 0 if there is enough.
  static std::uint64_t shortage(std::uint64_t bytes);

  /// Returns how many copies of weights drop_unused() has freed on this node so far, over all ranks
  /// and folders.
  std::uint64_t num_dropped() const;

private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace mgpu::lm
