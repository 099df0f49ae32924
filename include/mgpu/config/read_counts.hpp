#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace mgpu {

/// While an object lives, it counts how often its thread reads the value of each key, from any
/// Config. Tests use it to find keys that are parsed more than once. At most one exists per thread.
class ReadCounts {
public:
  ReadCounts();
  ~ReadCounts();
  ReadCounts(const ReadCounts&) = delete;
  ReadCounts& operator=(const ReadCounts&) = delete;

  /// Returns the keys that were read, with the number of reads.
  const std::map<std::string, int, std::less<>>& all() const { return counts_; }

  void add(std::string_view name);

private:
  std::map<std::string, int, std::less<>> counts_;
};

/// Counts a read if this thread has a ReadCounts. Config calls it.
void count_read(std::string_view name);

}  // namespace mgpu
