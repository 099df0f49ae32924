#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace mgpu {

/// Counts how often the thread that constructs this object reads the value of each key, from any
/// Config. A thread may have only one ReadCounts at a time. Tests use it to find keys that are
/// parsed more than once.
class ReadCounts {
public:
  ReadCounts();
  ~ReadCounts();
  ReadCounts(const ReadCounts&) = delete;
  ReadCounts& operator=(const ReadCounts&) = delete;

  /// Returns the names of the keys that were read, with the number of reads.
  const std::map<std::string, int, std::less<>>& all() const { return counts_; }

  void add(std::string_view name);

private:
  std::map<std::string, int, std::less<>> counts_;
};

/// Counts a read of key `name` if the calling thread has a ReadCounts. The getters of Config call
/// it.
void count_read(std::string_view name);

}  // namespace mgpu
