#pragma once

#include <filesystem>

#include <mgpu/cluster/group.hpp>

namespace mgpu::app {

/// A folder for the files of --check. All ranks see the folder, and the destructor on rank 0
/// removes the folder with its files.
class CheckFolder {
public:
  /// Makes the folder in `parent`. If `parent` does not exist, makes the folder in the nearest
  /// existing folder above it, without making `parent`.
  ///
  /// Ranks:  collective over `world`; the destructor is local.
  /// Errors: Failure E601 (exit 73) on all ranks when the folder cannot be made, or when a rank
  ///         does not see it because the nodes do not share the file system.
  CheckFolder(const cluster::Group& world, const std::filesystem::path& parent);
  ~CheckFolder();
  CheckFolder(const CheckFolder&) = delete;
  CheckFolder& operator=(const CheckFolder&) = delete;
  CheckFolder(CheckFolder&&) = delete;
  CheckFolder& operator=(CheckFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
  bool is_owner_;
};

}  // namespace mgpu::app
