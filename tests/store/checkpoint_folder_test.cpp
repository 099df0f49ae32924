#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/process_memory.hpp>
#include <mgpu/store/checkpoint/checkpoint_folder.hpp>

#include "checkpoint_content.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CheckpointStateTest, ComesBackBitForBit) {
  CheckpointState state{7, 3584, 1.0 / 3.0, {}};
  state.values = {{"tiny", std::numeric_limits<double>::denorm_min()},
                  {"whole", 5.0},
                  {"integer", std::int64_t{-5}},
                  {"inf", -std::numeric_limits<double>::infinity()},
                  {"text", std::string("a\"b\n\xc3\xa9")}};

  EXPECT_EQ(state_from_json(to_json(state)), state);

  state.best_metric.reset();
  state.values = {{"nan", std::numeric_limits<double>::quiet_NaN()}};
  const CheckpointState back = state_from_json(to_json(state));
  EXPECT_FALSE(back.best_metric.has_value());
  EXPECT_TRUE(std::isnan(std::get<double>(back.values.at("nan"))));
}

TEST(CheckpointStateTest, RefusesOtherJson) {
  EXPECT_THROW(state_from_json("{}"), Error);
  EXPECT_THROW(state_from_json("[1"), Error);
  EXPECT_THROW(state_from_json(R"({"format_version":1,"step":-1,"consumed_samples":0,)"
                               R"("best_metric":null,"values":{}})"),
               Error);
}

class CheckpointFolderTest : public testing::Test {
protected:
  fs::path save(std::int64_t step, bool is_best = false) {
    TinyTraining training(step);
    const auto model = training.model();
    const auto trainer = training.trainer();
    return folder_.publish(folder_.write({model, trainer, training.state()}), is_best);
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(root_.path() / "ckpt"))
      found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }

  testing_support::TemporaryFolder root_;
  CheckpointFolder folder_{root_.path(), 1};
};

TEST_F(CheckpointFolderTest, StoresTensorsAndState) {
  const fs::path path = save(21000, true);

  EXPECT_EQ(path, root_.path() / "ckpt" / "step_00021000");
  const StoredCheckpoint stored(path);
  TinyTraining expected(21000);
  EXPECT_EQ(stored.state(), expected.state());
  EXPECT_EQ(stored.model().find("bias")->bytes.size(), 8U);
  EXPECT_EQ(stored.trainer().find("counter")->dtype, DType::u64);
  EXPECT_THAT(names(), ElementsAre("best", "last", "step_00021000"));
  EXPECT_EQ(fs::read_symlink(root_.path() / "ckpt" / "last"), "step_00021000");
  EXPECT_TRUE(fs::exists(root_.path() / "ckpt" / "best" / "model.safetensors"));
}

TEST_F(CheckpointFolderTest, KeepsTheNewestAndTheBest) {
  save(1);
  save(2, true);
  save(3);
  save(100000000);
  save(4);
  folder_.prune(2);
  EXPECT_THAT(names(),
              ElementsAre("best", "last", "step_00000002", "step_00000004", "step_100000000"));
  EXPECT_EQ(folder_.finished().front().filename(), "step_100000000");
}

TEST_F(CheckpointFolderTest, ReplacesTheSameStep) {
  save(5);
  TinyTraining other(5);
  auto model = other.model();
  static_cast<float*>(model[0].view.data)[0] = 99.0F;
  const auto trainer = other.trainer();

  const fs::path path = folder_.publish(folder_.write({model, trainer, other.state()}), false);

  const StoredCheckpoint stored(path);
  EXPECT_EQ(reinterpret_cast<const float*>(stored.model().find("blocks.0.w")->bytes.data())[0],
            99.0F);
  EXPECT_THAT(names(), ElementsAre("last", "step_00000005"));
}

TEST_F(CheckpointFolderTest, TidiesWhatDeadAttemptsLeft) {
  const fs::path ckpt = root_.path() / "ckpt";
  save(5);
  fs::create_directories(ckpt / "step_00000006.tmp.a0001" / "x");
  fs::create_directories(ckpt / "step_00000005.old.a0002");
  fs::rename(save(4), ckpt / "step_00000004.old.a0002");
  fs::create_symlink("step_00000006", ckpt / "last.tmp.a0001");
  fs::create_directories(ckpt / "step_7");
  fs::create_directories(ckpt / "notes");

  folder_.tidy();

  EXPECT_THAT(names(), ElementsAre("last", "notes", "step_00000004", "step_00000005", "step_7"));
  EXPECT_EQ(folder_.finished().size(), 2U);
}

TEST_F(CheckpointFolderTest, SetsDamagedOnesAside) {
  save(1);
  save(2, true);
  const fs::path aside = folder_.set_aside(root_.path() / "ckpt" / "step_00000002");
  EXPECT_EQ(aside.filename(), "step_00000002.bad");
  EXPECT_THAT(names(), ElementsAre("last", "step_00000001", "step_00000002.bad"));
  EXPECT_EQ(fs::read_symlink(root_.path() / "ckpt" / "last"), "step_00000001");
  EXPECT_EQ(folder_.set_aside(save(2)).filename(), "step_00000002.bad2");
  EXPECT_EQ(folder_.bad().size(), 2U);
}

TEST_F(CheckpointFolderTest, NothingStaysBehindWhenWritingFails) {
  TinyTraining training(3);
  auto model = training.model();
  model[0].shape = {2, 4};
  const auto trainer = training.trainer();
  EXPECT_THROW(folder_.write({model, trainer, training.state()}), Error);
  EXPECT_THAT(names(), IsEmpty());
}

class DamageTest : public CheckpointFolderTest {
protected:
  ErrorReport damage_of(const fs::path& path) {
    try {
      StoredCheckpoint stored(path);
      return {};
    } catch (const Failure& failure) {
      return failure.report();
    }
  }

  void expect_damage(const std::string& file, const std::string& evidence) {
    const ErrorReport report = damage_of(path_);
    EXPECT_EQ(report.code, "E611") << evidence;
    EXPECT_EQ(report.exit, ExitCode::corrupt);
    ASSERT_EQ(report.lines.size(), 2U);
    EXPECT_THAT(report.lines[0], HasSubstr((path_ / file).string()));
    EXPECT_THAT(report.lines[1], HasSubstr(evidence));
  }

  static void flip(const fs::path& file, std::size_t at, int bit) {
    std::string bytes = read_file(file);
    bytes.at(at) = static_cast<char>(bytes.at(at) ^ (1 << bit));
    std::ofstream(file, std::ios::binary) << bytes;
  }

  fs::path path_ = save(1);
};

TEST_F(DamageTest, EveryFlippedBitIsFound) {
  for (const char* name :
       {"model.safetensors", "trainer.safetensors", "state.json", "MANIFEST.json"}) {
    const std::size_t size = fs::file_size(path_ / name);
    for (std::size_t at = 0; at < size; ++at) {
      const int bit = static_cast<int>((at * 5 + 1) % 8);
      flip(path_ / name, at, bit);
      const std::string code = damage_of(path_).code;
      // A flipped bit in the digits of the format version can give a newer version, which is
      // refused, too.
      ASSERT_TRUE(code == "E611" || (std::string(name) == "MANIFEST.json" && code == "E613"))
          << name << " byte " << at << ": " << code;
      flip(path_ / name, at, bit);
    }
  }
  EXPECT_EQ(damage_of(path_).code, "");
}

TEST_F(DamageTest, NamesTheTensor) {
  flip(path_ / "model.safetensors", fs::file_size(path_ / "model.safetensors") - 1, 0);
  expect_damage("model.safetensors", "tensor `blocks.0.w`: CRC-32C expected 0x");
}

TEST_F(DamageTest, NamesATruncatedFile) {
  fs::resize_file(path_ / "trainer.safetensors", 100);
  expect_damage("trainer.safetensors", "it has 100 bytes, expected");
}

TEST_F(DamageTest, NamesAMissingFile) {
  fs::remove(path_ / "state.json");
  expect_damage("state.json", "No such file");
  fs::remove(path_ / "MANIFEST.json");
  expect_damage("MANIFEST.json", "No such file");
}

TEST_F(DamageTest, FindsFilesOfAnotherCheckpoint) {
  const fs::path other = save(2);
  fs::copy(other / "model.safetensors", path_ / "model.safetensors",
           fs::copy_options::overwrite_existing);
  expect_damage("model.safetensors", "tensor `");
  fs::remove(path_ / "model.safetensors");
  fs::rename(path_ / "trainer.safetensors", path_ / "model.safetensors");
  fs::copy(other / "model.safetensors", path_ / "trainer.safetensors");
  EXPECT_EQ(damage_of(path_).code, "E611");
}

TEST_F(DamageTest, RefusesANewerFormat) {
  std::ofstream(path_ / "MANIFEST.json") << R"({"format_version": 2, "anything": []})";
  const ErrorReport report = damage_of(path_);
  EXPECT_EQ(report.code, "E613");
  EXPECT_EQ(report.exit, ExitCode::cannot_create);
  EXPECT_THAT(report.sentence, HasSubstr("format 2, this program reads up to 1"));
}

// This program wrote fixtures/checkpoint_v1 in format 1, with the content of TinyTraining(3).
TEST_F(CheckpointFolderTest, OpensACheckpointOfFormat1) {
  const fs::path fixture = fs::path(MGPU_FIXTURES) / "checkpoint_v1" / "step_00000003";

  const StoredCheckpoint stored(fixture);

  EXPECT_EQ(stored.state(), TinyTraining(3).state());
  const auto* weights =
      reinterpret_cast<const float*>(stored.model().find("blocks.0.w")->bytes.data());
  EXPECT_EQ(weights[1], 3.0625F);
  const auto* moments =
      reinterpret_cast<const double*>(stored.trainer().find("blocks.0.w.exp_avg")->bytes.data());
  EXPECT_EQ(moments[5], -15.0);
}

TEST_F(CheckpointFolderTest, StillWritesFormat1ByteForByte) {
  const fs::path fixture = fs::path(MGPU_FIXTURES) / "checkpoint_v1" / "step_00000003";
  const fs::path ours = save(3);
  for (const auto& file : fs::directory_iterator(fixture))
    EXPECT_EQ(read_file(file.path()), read_file(ours / file.path().filename())) << file.path();
}

// Reading back checks every byte, but need not keep all of them in memory.
TEST_F(CheckpointFolderTest, WhatIsReadBackDoesNotStayInMemory) {
  constexpr std::size_t kCount = std::size_t{24} << 20;  // 96 MiB
  std::vector<float> weights(kCount, 1.0F);
  const formats::NamedTensor tensor{
      "w", {static_cast<std::int64_t>(kCount)}, {weights.data(), kCount, DType::f32, {}}};
  const std::uint64_t before = host_peak_bytes();

  const fs::path written = folder_.write({{&tensor, 1}, {}, TinyTraining(1).state()});

  EXPECT_LT(host_peak_bytes() - before, kCount * sizeof(float) / 2);
  EXPECT_EQ(StoredCheckpoint(written).model().tensors().size(), 1U);
}

}  // namespace
}  // namespace mgpu::store
