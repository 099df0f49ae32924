#include "check_folder.hpp"

#include <cstdlib>
#include <system_error>

#include <unistd.h>

#include <mgpu/base/error.hpp>

#include "inspect_machine.hpp"

namespace mgpu::app {
namespace {

namespace fs = std::filesystem;

std::string make_folder(const fs::path& parent) {
  std::string name = (existing_folder(parent) / ".mgpu_check_XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) return name;
  const std::string reason = std::generic_category().message(errno);
  throw Failure({"E601",
                 ExitCode::cannot_create,
                 "the output folder is not writable: " + reason,
                 {"  --> " + parent.string()},
                 "choose another folder: --output DIR"});
}

void require_seen(const fs::path& folder, int rank) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return;
  throw Failure({"E601",
                 ExitCode::cannot_create,
                 "rank " + std::to_string(rank) + " does not see the output folder of rank 0",
                 {"  --> " + folder.string()},
                 "choose a folder on a file system that all nodes share: --output DIR"});
}

}  // namespace

CheckFolder::CheckFolder(const cluster::Group& world, const fs::path& parent)
    : is_owner_(world.rank() == 0) {
  std::string made;
  cluster::run_together(world, [&] {
    if (is_owner_) made = make_folder(parent);
  });
  path_ = world.broadcast(std::move(made), 0);
  try {
    cluster::run_together(world, [&] { require_seen(path_, world.rank()); });
  } catch (...) {
    std::error_code ignored;  // the first error is reported instead
    if (is_owner_) fs::remove(path_, ignored);
    throw;
  }
}

CheckFolder::~CheckFolder() {
  std::error_code ignored;  // a folder that cannot be removed is no reason to fail
  if (is_owner_) fs::remove_all(path_, ignored);
}

}  // namespace mgpu::app
