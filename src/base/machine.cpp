#include <array>
#include <fstream>
#include <system_error>

#include <unistd.h>

#include <mgpu/base/machine.hpp>

namespace mgpu {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string system_value(const fs::path& path, std::string_view name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || !line.starts_with(name)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

fs::path existing_folder(const fs::path& path) {
  fs::path existing = fs::absolute(path).lexically_normal();
  std::error_code ignored;
  while (!fs::exists(existing, ignored) && existing.has_relative_path())
    existing = existing.parent_path();
  return existing;
}

std::uint64_t free_bytes(const fs::path& path) {
  std::error_code error;
  const fs::space_info space = fs::space(existing_folder(path), error);
  return error ? 0 : space.available;
}

}  // namespace mgpu
