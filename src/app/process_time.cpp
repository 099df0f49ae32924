#include <fstream>
#include <sstream>
#include <string>

#include <time.h>
#include <unistd.h>

#include <mgpu/app/process_time.hpp>

namespace mgpu::app {

double process_elapsed_s() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');  // the process name may contain spaces
  if (name_end == std::string::npos) return 0.0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string field;
  for (int number = 3; number <= 22; ++number)  // proc(5): field 22 is starttime, in ticks
    fields >> field;
  if (!fields) return 0.0;
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double since_boot_s =
      static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  const double elapsed_s =
      since_boot_s - std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return elapsed_s > 0.0 ? elapsed_s : 0.0;
}

}  // namespace mgpu::app
