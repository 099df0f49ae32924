#include <array>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <sstream>
#include <string_view>
#include <thread>

#include <mpi.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <mgpu/app/build_info.hpp>
#include <mgpu/app/environment_report.hpp>
#include <mgpu/base/environment.hpp>
#include <mgpu/base/machine.hpp>
#include <mgpu/base/utf8.hpp>

extern char** environ;

namespace mgpu::app {
namespace {

/// Returns the text of MPI_Get_library_version() up to the first comma, such as
/// "Open MPI v4.1.4". Works before MPI_Init.
std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data(), static_cast<std::size_t>(length));
  return all.substr(0, all.find(','));
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string driver() {
  const std::string line = first_line("/proc/driver/nvidia/version");
  return line.empty() ? "none" : line;
}

std::string kernel() {
  utsname name{};
  if (uname(&name) != 0) return "unknown";
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

}  // namespace

std::string version_text(bool verbose) {
  std::ostringstream text;
  const BuildInfo& build = build_info();
  text << "mgpu_spmd " << build.version << '\n';
  if (!verbose) return text.str();
  const auto line = [&](const std::string& name, const std::string& version) {
    text << std::left << std::setw(12) << name << version << '\n';
  };
  for (const auto& [name, version] : build.versions)
    if (name != "mgpu_spmd") line(name, version);
  line("compiler", __VERSION__);
  line("mpi", mpi_version());
  return text.str();
}

std::string environment_text() {
  std::ostringstream text;
  text << version_text(true) << "system      " << kernel() << '\n'
       << "processor   " << system_value("/proc/cpuinfo", "model name") << ", "
       << std::thread::hardware_concurrency() << " threads\n"
       << "memory      " << system_value("/proc/meminfo", "MemTotal") << '\n'
       << "GPU driver  " << driver() << '\n'
       << "variables\n";
  for (const auto& [name, value] : shown_environment(environ))
    text << "  " << name << '=' << printable(value) << '\n';
  return text.str();
}

}  // namespace mgpu::app
