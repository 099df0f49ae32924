#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <mpi.h>

#include <mgpu/cluster/group.hpp>

namespace mgpu::testing_support {

/// A new folder that all ranks of a group use, removed with the object. Ranks: collective.
class SharedFolder {
public:
  explicit SharedFolder(const cluster::Group& group) : group_(group) {
    std::string name = (std::filesystem::temp_directory_path() / "mgpu_test_XXXXXX").string();
    if (group.rank() == 0 && ::mkdtemp(name.data()) == nullptr) name.clear();
    path_ = group.broadcast(name, 0);
  }
  ~SharedFolder() {
    MPI_Barrier(group_.raw());  // unlike Group::barrier(), it throws nothing
    std::error_code ignored;
    if (group_.rank() == 0) std::filesystem::remove_all(path_, ignored);
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Writes a new file and returns its path. Ranks: collective.
  std::string write(const std::string& name, const std::string& text) const {
    if (group_.rank() == 0) std::ofstream(path_ / name) << text;
    group_.barrier();
    return (path_ / name).string();
  }

private:
  const cluster::Group& group_;
  std::filesystem::path path_;
};

}  // namespace mgpu::testing_support
