#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/app/program_keys.hpp>
#include <mgpu/config/config_reader.hpp>
#include <mgpu/run/run_identity.hpp>

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

TEST(RunIdentityTest, OnlyOnAGpuTheBatchBelongsToTheIdentity) {
  const Config small = with_batch("8");
  const Config large = with_batch("16");
  const run::JobKeys keys;

  EXPECT_EQ(run::run_identity(small, keys, run::device_keys(small, DeviceKind::cpu)),
            run::run_identity(large, keys, run::device_keys(large, DeviceKind::cpu)));
  EXPECT_NE(run::run_identity(small, keys, run::device_keys(small, DeviceKind::cuda)),
            run::run_identity(large, keys, run::device_keys(large, DeviceKind::cuda)));
  EXPECT_TRUE(run::device_keys(small, DeviceKind::cpu).empty());
  const auto on_gpu = run::device_keys(small, DeviceKind::cuda);
  EXPECT_EQ(on_gpu.at("generate.batch_size"), "8");
  EXPECT_THAT(on_gpu.at("sizes of passes"), testing::HasSubstr("4096 prompt tokens"));
}

TEST(RunIdentityTest, KeysOfTheDeviceAreFoundInRunJsonAgain) {
  const Config config = with_batch("8");
  const auto of_gpu = run::device_keys(config, DeviceKind::cuda);
  std::map<std::string, std::string> written = store::identity_keys(config);

  EXPECT_TRUE(run::device_keys_in(written, config).empty());
  written.insert(of_gpu.begin(), of_gpu.end());
  written["--only"] = "part 0 of 2";
  EXPECT_EQ(run::device_keys_in(written, config), of_gpu);
}

}  // namespace
}  // namespace mgpu::app
