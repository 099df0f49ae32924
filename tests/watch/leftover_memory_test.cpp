#include <fstream>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <mgpu/watch/leftover_memory.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu::watch {
namespace {

namespace fs = std::filesystem;

TEST(LeftoverMemoryTest, RemovesOldFilesThatNobodyHasMapped) {
  const testing_support::TemporaryFolder folder;
  const auto make = [&](const char* name, bool is_old) {
    const fs::path path = folder.path() / name;
    std::ofstream(path) << std::string(4096, 'x');
    const timespec hour_ago{std::time(nullptr) - 3600, 0};
    const timespec times[2] = {hour_ago, hour_ago};
    if (is_old) {
      EXPECT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    }
    return path;
  };
  const fs::path left = make("vader_segment.node.0.1234.0", true);
  const fs::path watch = make("mgpu_watch.0.77.123", true);
  const fs::path young = make("vader_segment.node.0.1234.1", false);
  const fs::path other = make("another", true);
  const fs::path used = make("vader_segment.node.0.99.0", true);
  const int file = ::open(used.c_str(), O_RDWR);
  void* memory = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file, 0);
  ::close(file);

  EXPECT_EQ(remove_leftover_memory(folder.path()), 2);

  EXPECT_FALSE(fs::exists(left));
  EXPECT_FALSE(fs::exists(watch));
  for (const fs::path& kept : {young, other, used})
    EXPECT_TRUE(fs::exists(kept)) << kept;
  ::munmap(memory, 4096);
  EXPECT_EQ(remove_leftover_memory(folder.path()), 1);
  EXPECT_EQ(remove_leftover_memory(folder.path() / "nothing"), 0);
}

}  // namespace
}  // namespace mgpu::watch
