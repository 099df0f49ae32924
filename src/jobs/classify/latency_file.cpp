#include "latency_file.hpp"

#include <algorithm>
#include <sstream>
#include <string>

#include <mgpu/base/error.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "latency";

}  // namespace

LatencyFile::LatencyFile(const fs::path& run_directory, std::uint32_t attempt, int rank)
    : path_(run_directory / kFolder /
            report::text_of("attempt_%04u.rank_%04d.csv", attempt, rank)) {
  std::error_code error;
  fs::create_directories(path_.parent_path(), error);
  file_.open(path_, std::ios::app);
}

void LatencyFile::add(std::int64_t first, std::int64_t count, double seconds) {
  file_ << report::text_of("%lld,%lld,%.6f\n", static_cast<long long>(first),
                           static_cast<long long>(count), seconds)
        << std::flush;
  if (file_) return;
  throw Failure(
      {"E602", ExitCode::io, "cannot write times of chunks", {"  --> " + path_.string()}, ""});
}

std::vector<double> read_latency(const fs::path& run_directory, std::int64_t rows) {
  std::vector<double> seconds(static_cast<std::size_t>(rows), -1.0);
  std::vector<fs::path> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(run_directory / kFolder, missing))
    if (entry.is_regular_file(missing)) files.push_back(entry.path());
  std::ranges::sort(files);  // later attempts come last, and replace times
  for (const fs::path& path : files) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line) && !file.eof();) {
      std::istringstream fields(line);
      std::int64_t first = 0;
      std::int64_t count = 0;
      double whole = 0.0;
      char comma = ',';
      const bool is_whole = static_cast<bool>(fields >> first >> comma >> count >> comma >> whole);
      if (!is_whole || first < 0 || count < 1 || count > rows - first) continue;
      std::fill_n(seconds.begin() + first, count, whole / static_cast<double>(count));
    }
  }
  return seconds;
}

}  // namespace mgpu::jobs
