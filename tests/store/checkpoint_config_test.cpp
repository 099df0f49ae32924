#include <string>

#include <gtest/gtest.h>

#include <mgpu/config/config_reader.hpp>
#include <mgpu/store/checkpoint/checkpoint_config.hpp>

namespace mgpu::store {
namespace {

class CheckpointConfigTest : public testing::Test {
protected:
  CheckpointConfigTest() { add_checkpoint_keys(table_); }

  Config read(const std::string& text) const {
    ConfigSources sources;
    sources.file = "/conf/run.yaml";
    sources.working_directory = "/";
    sources.read = [&text](const std::filesystem::path&) { return text; };
    return read_config(table_, sources);
  }

  KeyTable table_;
};

TEST_F(CheckpointConfigTest, DefaultsAreThoseOfTheStruct) {
  const CheckpointConfig read_back = read_checkpoint_config(read("{}"));
  const CheckpointConfig standard;
  EXPECT_EQ(read_back.every, standard.every);
  EXPECT_EQ(read_back.every_minutes, standard.every_minutes);
  EXPECT_EQ(read_back.keep, standard.keep);
}

TEST_F(CheckpointConfigTest, ReadsItsKeys) {
  const CheckpointConfig config =
      read_checkpoint_config(read("checkpoint: {every: 0, every_minutes: 0.5, keep: 1}"));
  EXPECT_EQ(config.every, 0);
  EXPECT_EQ(config.every_minutes, 0.5);
  EXPECT_EQ(config.keep, 1);
}

TEST_F(CheckpointConfigTest, KeepsAtLeastOne) {
  EXPECT_THROW(read("checkpoint: {keep: 0}"), Error);
}

TEST_F(CheckpointConfigTest, NoKeyChangesTheIdentityOfARun) {
  EXPECT_EQ(read("checkpoint: {every: 7, keep: 9}").identity(), read("{}").identity());
}

}  // namespace
}  // namespace mgpu::store
