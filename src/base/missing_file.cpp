#include <filesystem>
#include <system_error>

#include <mgpu/base/missing_file.hpp>

namespace mgpu {

std::optional<std::string> missing_file(const fs::path& path) {
  std::error_code missing;
  const fs::file_status status = fs::status(path, missing);
  if (fs::is_regular_file(status)) return std::nullopt;
  return (fs::exists(status) ? "this is not a regular file: " : "there is no such file: ") +
         path.string();
}

}  // namespace mgpu
