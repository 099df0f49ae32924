#include <mgpu/base/error.hpp>
#include <mgpu/base/lfs_pointer.hpp>

namespace mgpu {

void refuse_lfs_pointer(const std::filesystem::path& path, std::string_view text) {
  if (!text.starts_with("version https://git-lfs")) return;
  throw Failure({"E622",
                 ExitCode::data,
                 "this is a Git LFS pointer, not the file",
                 {"  --> " + path.string()},
                 "git lfs pull, in the folder of the file"});
}

}  // namespace mgpu
