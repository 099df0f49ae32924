#pragma once

#include <filesystem>

#include <mgpu/cluster/group.hpp>

namespace mgpu::app {

/// A folder for the files of a check, seen by all ranks, gone afterwards.
class CheckFolder {
public:
  /// In `parent`, or the nearest folder above it that exists: nothing else is made.
  ///
  /// Ranks:  collective; the destructor is local.
  /// Errors: Failure E601 (exit 73) on all ranks when it cannot be made, or when a rank does not
  ///         see it: the output has to lie on a file system that all nodes share.
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
