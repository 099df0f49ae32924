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

/// Weights of model folders that stay in the memory of each node: the rank that asks for a folder
/// first reads its files, and all ranks of the node look at the same copy, which nobody may change.
/// Ranks ask when they like; who comes while another one reads waits for it.
///
/// A folder whose files have changed since is read again.
///
/// Memory: on each node the float32 tensors of each folder, until the last rank lets go of this.
/// Ranks:  made collectively over the ranks of a node; all other calls are local.
class ResidentModels {
public:
  /// Errors: Error where the system has no anonymous files (memfd_create).
  explicit ResidentModels(const cluster::Group& node);
  ~ResidentModels();
  ResidentModels(const ResidentModels&) = delete;
  ResidentModels& operator=(const ResidentModels&) = delete;

  /// The tensors of a folder as float32 on the CPU, of these shapes, in this order; the same for
  /// all who open the folder. `read` fills them where nobody has read the folder.
  ///
  /// Errors: what `read` throws, here and on ranks that wait for this one; those read the folder
  ///         themselves. Error when 64 folders are open.
  std::vector<at::Tensor> open(
      const std::filesystem::path& folder, const std::vector<std::vector<std::int64_t>>& shapes,
      const std::function<void(std::span<const at::Tensor> tensors)>& read);

  /// A short text about a folder, which `make` finds out where nobody on the node has: at most 400
  /// bytes. Errors: as open().
  std::string about(const std::filesystem::path& folder, const std::function<std::string()>& make);

private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

}  // namespace mgpu::lm
