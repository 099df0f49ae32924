#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace mgpu {

/// Counts how often the value of each key is read on this thread, from any Config, while it lives.
/// Tests use it to find keys that are parsed again. At most one exists per thread.
class ReadCounts {
public:
  ReadCounts();
  ~ReadCounts();
  ReadCounts(const ReadCounts&) = delete;
  ReadCounts& operator=(const ReadCounts&) = delete;

  /// The keys that were read, with the number of reads.
  const std::map<std::string, int, std::less<>>& all() const { return counts_; }

  void add(std::string_view name);

private:
  std::map<std::string, int, std::less<>> counts_;
};

/// Counts a read where this thread has a ReadCounts. Called by Config.
void count_read(std::string_view name);

}  // namespace mgpu
