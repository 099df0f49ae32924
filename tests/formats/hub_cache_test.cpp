#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/formats/hub_cache.hpp>
#include <mgpu/formats/safetensors.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu::formats {
namespace {

using testing::HasSubstr;

TEST(HubNameTest, IsAnOwnerAndAModel) {
  for (const char* name : {"Qwen/Qwen2.5-0.5B", "openai/gpt-oss-20b", "gpt2"})
    EXPECT_TRUE(is_hub_name(name)) << name;
  for (const char* path : {"", "/a/b", "./a", "../a/b", "a/b/c", "a/", "a/.b", "a b/c", "~/a"})
    EXPECT_FALSE(is_hub_name(path)) << path;
}

/// A cache with one model, as huggingface_hub lays it out: files of a snapshot are links to blobs.
class HubCacheTest : public testing::Test {
protected:
  void SetUp() override {
    for (const char* name : {"HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"})
      ::unsetenv(name);
    ::setenv("HF_HOME", folder_.path().c_str(), 1);
    fs::create_directories(model_ / "refs");
    fs::create_directories(model_ / "blobs");
    fs::create_directories(snapshot_);
    std::ofstream(model_ / "refs" / "main") << "0123abc";
    std::ofstream(model_ / "blobs" / "c0") << "{}";
    fs::create_symlink("../../blobs/c0", snapshot_ / "config.json");
  }

  void add_weights() {
    write_safetensors(model_ / "blobs" / "w0", {}, {});
    fs::create_symlink("../../blobs/w0", snapshot_ / "model.safetensors");
  }

  testing_support::TemporaryFolder folder_;
  fs::path model_ = folder_.path() / "hub" / "models--Qwen--Qwen2.5-0.5B";
  fs::path snapshot_ = model_ / "snapshots" / "0123abc";
};

TEST_F(HubCacheTest, FindsTheSnapshotOfTheMainBranch) {
  add_weights();
  const auto copy = find_hub_copy("Qwen/Qwen2.5-0.5B");

  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->folder, snapshot_);
  EXPECT_EQ(copy->problem, "");
  EXPECT_FALSE(find_hub_copy("Qwen/Qwen2.5-1.5B").has_value());
  EXPECT_FALSE(find_hub_copy("../hub/models--Qwen--Qwen2.5-0.5B").has_value());
}

TEST_F(HubCacheTest, SaysWhatACopyLacks) {
  EXPECT_THAT(find_hub_copy("Qwen/Qwen2.5-0.5B")->problem, HasSubstr("model.safetensors"));
  add_weights();
  fs::remove(model_ / "blobs" / "c0");  // leaves a dangling link
  EXPECT_EQ(find_hub_copy("Qwen/Qwen2.5-0.5B")->problem, "it has no config.json");
  std::ofstream(model_ / "refs" / "main") << "../../..";
  EXPECT_FALSE(find_hub_copy("Qwen/Qwen2.5-0.5B").has_value());
}

TEST_F(HubCacheTest, VariablesSayWhereTheCacheIs) {
  add_weights();
  ::setenv("HF_HUB_CACHE", "/nowhere", 1);
  EXPECT_FALSE(find_hub_copy("Qwen/Qwen2.5-0.5B").has_value());
  ::setenv("HF_HUB_CACHE", (folder_.path() / "hub").c_str(), 1);
  ::setenv("HF_HOME", "/nowhere", 1);
  EXPECT_TRUE(find_hub_copy("Qwen/Qwen2.5-0.5B").has_value());
}

}  // namespace
}  // namespace mgpu::formats
