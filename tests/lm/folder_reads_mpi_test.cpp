// Tests how often a group of ranks opens the files of a folder, and how it reports a damaged
// folder.
#include <cstdarg>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>
#include <string>

#include <dlfcn.h>
#include <fcntl.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/config/shared_config.hpp>
#include <mgpu/lm/parallel/model_group.hpp>

#include "made_folder.hpp"
#include "support/project_folder.hpp"

namespace mgpu::lm {
namespace {

/// Records the files of a folder that this process opens.
class OpenCalls {
public:
  void begin(std::string folder) {
    const std::lock_guard lock(mutex_);
    folder_ = std::move(folder);
    names_.clear();
  }
  /// Stops recording and returns the names, one per line.
  std::string end() {
    const std::lock_guard lock(mutex_);
    folder_.clear();
    return names_;
  }
  void note(const std::string& path) {
    const std::lock_guard lock(mutex_);
    if (!folder_.empty() && path.starts_with(folder_))
      names_ += fs::path(path).filename().string() + '\n';
  }

private:
  std::mutex mutex_;
  std::string folder_;
  std::string names_;
};

OpenCalls& open_calls() {
  static OpenCalls calls;
  return calls;
}

}  // namespace
}  // namespace mgpu::lm

// Overrides open() of the C library and calls it, so that all opened files are recorded.
extern "C" int open(const char* path, int flags, ...) {
  std::va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  using Open = int (*)(const char*, int, ...);
  static const Open next = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "open"));
  mgpu::lm::open_calls().note(path);
  return next(path, flags, mode);
}

namespace mgpu::lm {
namespace {

const cluster::Group& world() {
  static const cluster::Group group = cluster::Group::world();
  return group;
}

/// Opens a folder as one model of all ranks. Returns the error code, or "" without a failure.
std::string code_of(const fs::path& folder) {
  const cluster::Topology topology(world(), world().size());
  try {
    ModelGroup::open(folder, topology, {});
  } catch (const Failure& failure) {
    return failure.report().code;
  }
  return "";
}

TEST(FolderReadsTest, EveryFileIsReadOncePerNode) {
  const fs::path folder = testing_support::lm_goldens() / "qwen2";  // two shards and their index
  setenv("MGPU_RANKS_PER_NODE", "2", 1);
  const cluster::Topology topology(world(), 1);
  unsetenv("MGPU_RANKS_PER_NODE");

  open_calls().begin(folder.string());
  const ModelGroup group = ModelGroup::open(folder, topology, {});
  const std::string mine = open_calls().end();

  std::map<std::string, int> counts;
  for (const std::string& files : topology.node().all_gather(mine)) {
    std::istringstream lines(files);
    for (std::string file; std::getline(lines, file);)
      ++counts[file];
  }
  const std::map<std::string, int> expected{{"config.json", 1},
                                            {"generation_config.json", 1},
                                            {"model.safetensors.index.json", 1},
                                            {"model-00001-of-00002.safetensors", 1},
                                            {"model-00002-of-00002.safetensors", 1}};
  EXPECT_EQ(counts, expected);
}

TEST(FolderReadsTest, AConfigIsReadByOneRankForAll) {
  const fs::path folder = testing_support::lm_goldens() / "qwen2";

  open_calls().begin(folder.string());
  const LmConfig config = read_shared_lm_config(world(), folder);
  const std::string mine = open_calls().end();

  // The head is tied, so the headers of the weights are read too.
  const std::string all =
      "config.json\ngeneration_config.json\nmodel.safetensors.index.json\n"
      "model-00001-of-00002.safetensors\nmodel-00002-of-00002.safetensors\n";
  EXPECT_EQ(mine, world().rank() == 0 ? all : "");
  EXPECT_EQ(config, read_lm_config(folder));
  EXPECT_THROW(read_shared_lm_config(world(), "no/such/folder"), Failure);
}

TEST(FolderReadsTest, AFolderThatCannotBeReadIsRefusedOnAllRanks) {
  EXPECT_EQ(code_of("no/such/folder"), "E603");
  const MadeFolder folder(world(), {});
  if (world().rank() == 0) fs::resize_file(folder.path() / "model.safetensors", 5000);
  world().barrier();
  EXPECT_EQ(code_of(folder.path()), "E621");
}

}  // namespace
}  // namespace mgpu::lm
