#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>

namespace mgpu::lm {

/// Returns the memory of this process that is not mapped from files.
inline std::int64_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8)) * 1024;
  return 0;
}

/// Reads the anonymous memory every 200 microseconds until end(), which returns the largest value.
class PeakWatch {
public:
  PeakWatch() : thread_([this] { watch(); }) {}
  PeakWatch(const PeakWatch&) = delete;
  PeakWatch& operator=(const PeakWatch&) = delete;
  ~PeakWatch() { end(); }

  std::int64_t end() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
    return peak_;
  }

private:
  void watch() {
    while (!is_over_) {
      peak_ = std::max(peak_, anonymous_bytes());
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  std::int64_t peak_ = 0;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace mgpu::lm
