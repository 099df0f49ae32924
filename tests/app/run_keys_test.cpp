#include "app/run_keys.hpp"

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/app/program_keys.hpp>
#include <mgpu/config/config_reader.hpp>

namespace mgpu::app {
namespace {

Config with_batch(const std::string& size) {
  ConfigSources sources;
  sources.overrides = {{"job", "generate"},
                       {"model.path", "m"},
                       {"data.path", "d.jsonl"},
                       {"generate.batch_size", size}};
  sources.working_directory = "/";
  return read_config(program_keys(), sources);
}

TEST(RunKeysTest, OnlyOnAGpuTheBatchBelongsToTheIdentity) {
  const Config small = with_batch("8");
  const Config large = with_batch("16");
  const run::JobKeys keys;

  EXPECT_EQ(run_identity(small, keys, DeviceKind::cpu), run_identity(large, keys, DeviceKind::cpu));
  EXPECT_NE(run_identity(small, keys, DeviceKind::cuda),
            run_identity(large, keys, DeviceKind::cuda));
  EXPECT_TRUE(device_keys(small, DeviceKind::cpu).empty());
  const auto on_gpu = device_keys(small, DeviceKind::cuda);
  EXPECT_EQ(on_gpu.at("generate.batch_size"), "8");
  EXPECT_THAT(on_gpu.at("sizes of passes"), testing::HasSubstr("4096 prompt tokens"));
}

}  // namespace
}  // namespace mgpu::app
