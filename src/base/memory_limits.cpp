#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include <mgpu/base/memory_limits.hpp>

#include "number_in_file.hpp"

namespace mgpu {
namespace {

namespace fs = std::filesystem;

/// Names under which the kernel shows the memory limit and the memory use of a control group.
struct GroupFiles {
  const char* limit;     // name of a file
  const char* used;      // name of a file
  const char* inactive;  // name in memory.stat of the inactive file cache, which counts as free
};

constexpr GroupFiles kVersion1 = {"memory.limit_in_bytes", "memory.usage_in_bytes",
                                  "total_inactive_file"};
constexpr GroupFiles kVersion2 = {"memory.max", "memory.current", "inactive_file"};

std::optional<MemoryLimit> limit_of(const fs::path& group, const GroupFiles& files) {
  const auto limit = number_in_file(group / files.limit);  // nullopt if the file contains "max"
  const auto used = number_in_file(group / files.used);
  if (!limit || !used) return std::nullopt;
  const std::uint64_t inactive = number_in_file(group / "memory.stat", files.inactive).value_or(0);
  return MemoryLimit{*limit, *used - std::min(*used, inactive)};
}

/// Adds the limits of the control groups from `path` up to `root` to `limits`. `path` is a path
/// below `root`, as in /proc/self/cgroup. In a container, `root` may be the container's control
/// group itself, so that `path` does not exist below `root`. Folders that do not exist add no
/// limits.
void add_limits(const fs::path& root, const std::string& path, const GroupFiles& files,
                std::vector<MemoryLimit>& limits) {
  fs::path group = fs::path(path).relative_path();
  while (true) {
    if (const auto limit = limit_of(root / group, files)) limits.push_back(*limit);
    if (group.empty()) return;
    group = group.parent_path();
  }
}

bool has_controller(const std::string& controllers, const std::string& name) {
  return ("," + controllers + ",").find("," + name + ",") != std::string::npos;
}

}  // namespace

std::vector<MemoryLimit> memory_limits(const fs::path& group_file, const fs::path& root) {
  std::vector<MemoryLimit> limits;
  std::ifstream file(group_file);
  // A line is ID:CONTROLLERS:PATH. Version 1 of control groups has a line for each hierarchy of
  // controllers. Version 2 has one line, with the id 0 and no controllers.
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) add_limits(root, path, kVersion2, limits);
    if (has_controller(controllers, "memory")) add_limits(root / "memory", path, kVersion1, limits);
  }
  return limits;
}

}  // namespace mgpu
