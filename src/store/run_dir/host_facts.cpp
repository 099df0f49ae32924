#include "host_facts.hpp"

#include <array>
#include <ctime>
#include <fstream>
#include <sstream>

namespace mgpu::store {
namespace {

std::string formatted(const std::tm& time, const char* format) {
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), format, &time);
  return text.data();
}

}  // namespace

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

std::string process_start(int pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return "";
  const std::size_t name_end = line.rfind(')');  // the name may contain blanks and parentheses
  if (name_end == std::string::npos) return "";
  std::istringstream rest(line.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 22 && rest >> field; ++number)
    if (number == 3 && (field == "Z" || field == "X")) return "";
  return field;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm time{};
  ::gmtime_r(&now, &time);
  return formatted(time, "%Y-%m-%dT%H:%M:%SZ");
}

std::string local_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm time{};
  ::localtime_r(&now, &time);
  return formatted(time, "%Y-%m-%d_%H-%M-%S");
}

}  // namespace mgpu::store
