#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/formats/weight_files.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu::formats {
namespace {

using testing::HasSubstr;

ErrorReport report_of_call(const std::function<void()>& call) {
  try {
    call();
    return {};
  } catch (const Failure& failure) {
    return failure.report();
  }
}

class WeightFilesTest : public testing::Test {
protected:
  void put(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }

  /// Writes a file with one float per name.
  void put_tensors(const std::string& name, const std::vector<std::string>& tensors) {
    std::vector<NamedTensor> views;
    views.reserve(tensors.size());
    for (const std::string& tensor : tensors)
      views.push_back({tensor, {1}, {&value_, 1, DType::f32, {}}});
    write_safetensors(folder_.path() / name, views, {});
  }

  void put_index(const std::string& map) {
    put("model.safetensors.index.json",
        "{\"metadata\": {\"total_size\": 8}, \"weight_map\": {" + map + "}}");
  }

  ErrorReport refusal() {
    return report_of_call([&] { WeightFiles files(folder_.path()); });
  }

  void expect_refused(const std::string& reason) {
    const ErrorReport report = refusal();
    EXPECT_EQ(report.code, "E624") << reason;
    EXPECT_EQ(report.exit, ExitCode::data);
    EXPECT_THAT(report.sentence, HasSubstr(reason));
  }

  testing_support::TemporaryFolder folder_;
  float value_ = 1.5F;
};

TEST_F(WeightFilesTest, OneFileGivesItsTensors) {
  put_tensors("model.safetensors", {"b", "a"});

  const WeightFiles files(folder_.path());

  EXPECT_EQ(files.tensors().size(), 2U);
  ASSERT_NE(files.find("a"), nullptr);
  EXPECT_EQ(files.find("a")->shape, std::vector<std::int64_t>{1});
  EXPECT_EQ(files.find("c"), nullptr);
}

TEST_F(WeightFilesTest, ShardsAreOneSetOfTensors) {
  put_tensors("model-00001-of-00002.safetensors", {"a", "b"});
  put_tensors("model-00002-of-00002.safetensors", {"c"});
  put_index(R"("a": "model-00001-of-00002.safetensors", "b": "model-00001-of-00002.safetensors",
               "c": "model-00002-of-00002.safetensors")");

  const WeightFiles files(folder_.path());

  EXPECT_EQ(files.tensors().size(), 3U);
  EXPECT_NE(files.find("c"), nullptr);
}

TEST_F(WeightFilesTest, MissingShardIsMissingInput) {
  put_index(R"("a": "model-00001-of-00001.safetensors")");

  const ErrorReport report = refusal();

  EXPECT_EQ(report.code, "E603");
  EXPECT_EQ(report.exit, ExitCode::no_input);
  EXPECT_THAT(report.lines.at(0), HasSubstr("model-00001-of-00001.safetensors"));
}

TEST_F(WeightFilesTest, IndexNamesFilesOfItsFolderOnly) {
  for (const char* name : {"../a", "/etc/passwd", "a/b", "..", "", "a\\\\b"}) {
    put_index(std::string(R"("a": ")") + name + "\"");
    expect_refused("is not the name of a file");
  }
}

TEST_F(WeightFilesTest, LinkOutOfTheFolderIsRefused) {
  const testing_support::TemporaryFolder elsewhere;
  std::ofstream(elsewhere.path() / "secret") << "x";
  fs::create_symlink(elsewhere.path() / "secret", folder_.path() / "s.safetensors");
  put_index(R"("a": "s.safetensors")");

  expect_refused("leads out of the folder");
}

TEST_F(WeightFilesTest, SnapshotOfTheHubCacheLinksToItsBlobs) {
  const fs::path snapshot = folder_.path() / "snapshots" / "abc";
  fs::create_directories(snapshot);
  fs::create_directories(folder_.path() / "blobs");
  put_tensors("blobs/123", {"a"});
  fs::create_symlink("../../blobs/123", snapshot / "model-1.safetensors");
  std::ofstream(snapshot / "model.safetensors.index.json")
      << R"({"weight_map": {"a": "model-1.safetensors"}})";

  EXPECT_NE(WeightFiles(snapshot).find("a"), nullptr);
}

TEST_F(WeightFilesTest, IndexAndShardsHaveToAgree) {
  put_tensors("one.safetensors", {"a", "b"});

  put_index(R"("a": "one.safetensors")");
  expect_refused("the index does not place `b`");
  put_index(R"("a": "one.safetensors", "b": "one.safetensors", "c": "one.safetensors")");
  expect_refused("`c` is not in `one.safetensors`");
  put_index(R"("a": 1)");
  expect_refused("not a text");
  put("model.safetensors.index.json", "{}");
  expect_refused("no `weight_map`");
}

TEST_F(WeightFilesTest, PickleIsRefusedWithAdvice) {
  put("pytorch_model.bin", "PK\x03\x04");

  const ErrorReport report = refusal();

  EXPECT_EQ(report.code, "E622");
  EXPECT_EQ(report.exit, ExitCode::data);
  EXPECT_THAT(report.help, HasSubstr("save_pretrained"));
  EXPECT_THAT(report.lines.at(0), HasSubstr("pytorch_model.bin"));
}

TEST_F(WeightFilesTest, EmptyAndAbsentFoldersAreMissingInput) {
  EXPECT_EQ(refusal().exit, ExitCode::no_input);
  const ErrorReport absent = report_of_call([&] { WeightFiles files(folder_.path() / "absent"); });
  EXPECT_THAT(absent.sentence, HasSubstr("does not exist"));
  EXPECT_EQ(absent.exit, ExitCode::no_input);
}

class JsonValueTest : public WeightFilesTest {
protected:
  JsonValue read(const std::string& text, std::uint64_t limit = 1 << 20) {
    put("a.json", text);
    return read_json_object(folder_.path() / "a.json", limit);
  }

  std::string refusal_of(const std::string& text) {
    const ErrorReport report = report_of_call([&] { read(text); });
    return report.code + " " + report.sentence;
  }
};

TEST_F(JsonValueTest, ValuesKeepTheirTypes) {
  const JsonValue root =
      read(R"({"a": 1, "b": 1.0, "c": [true, null], "d": {"e": "\u00e9"}, "f": -3})");

  EXPECT_EQ(*root.find("a")->integer(), 1);
  EXPECT_EQ(root.find("b")->integer(), nullptr);
  EXPECT_DOUBLE_EQ(*root.find("b")->real(), 1.0);
  EXPECT_TRUE(*root.find("c")->list()->at(0).flag());
  EXPECT_TRUE(root.find("c")->list()->at(1).is_null());
  EXPECT_EQ(*root.find("d")->find("e")->text(), "\xc3\xa9");
  EXPECT_EQ(*root.find("f")->integer(), -3);
  EXPECT_EQ(root.find("g"), nullptr);
}

TEST_F(JsonValueTest, WhatIsNotOneObjectIsRefused) {
  EXPECT_THAT(refusal_of("[1]"), HasSubstr("E623"));
  EXPECT_THAT(refusal_of(""), HasSubstr("E623"));
  EXPECT_THAT(refusal_of("{\"a\": 1"), HasSubstr("E623"));
  EXPECT_THAT(refusal_of("{\"a\": 1} {}"), HasSubstr("E623"));
  EXPECT_THAT(refusal_of("{\"a\": \"\xff\"}"), HasSubstr("E623"));
  EXPECT_THAT(refusal_of("{\"a\": {\"b\": 1, \"b\": 2}}"), HasSubstr("`b` comes twice"));
  EXPECT_THAT(refusal_of("{\"a\": " + std::string(64, '[') + std::string(64, ']') + "}"),
              HasSubstr("E623"));
  EXPECT_THAT(refusal_of("version https://git-lfs.github.com/spec/v1\n"), HasSubstr("E622"));
}

TEST_F(JsonValueTest, LargerThanTheLimitIsRefused) {
  put("a.json", "{\"a\": 12345678}");

  const ErrorReport report =
      report_of_call([&] { read_json_object(folder_.path() / "a.json", 8); });

  EXPECT_EQ(report.code, "E603");
  EXPECT_EQ(report.exit, ExitCode::data);
}

/// A checkpoint's folder with one tensor and one other file.
class CheckpointFolderTest : public WeightFilesTest {
protected:
  void SetUp() override {
    const NamedTensor tensor{"a", {1}, {&value_, 1, DType::f32, {}}};
    put("config.json", "{}");
    CheckpointManifest manifest;
    manifest.step = 3;
    manifest.files["model.safetensors"] =
        write_safetensors(folder_.path() / "model.safetensors", std::vector{tensor}, {});
    manifest.files["config.json"] = {2, sha256_hex("{}"), {}};
    manifest.files["trainer.safetensors"] = {10, "", {{"m", 1}}};
    put(kManifestName, to_json(manifest));
  }

  ErrorReport checked() {
    return report_of_call([&] {
      const WeightFiles files(folder_.path());
      files.check(*files.find("a"));
    });
  }

  void flip_last_byte(const std::string& name) {
    std::string bytes = read_file(folder_.path() / name);
    bytes.back() ^= 0x40;
    put(name, bytes);
  }
};

TEST_F(CheckpointFolderTest, AWholeOneIsReadWithoutTheTrainersState) {
  EXPECT_EQ(checked().code, "");
}

TEST_F(CheckpointFolderTest, AFlippedBitOfAWeightIsFound) {
  flip_last_byte("model.safetensors");
  const ErrorReport report = checked();
  EXPECT_EQ(report.code, "E611");
  EXPECT_EQ(report.exit, ExitCode::corrupt);
  EXPECT_THAT(report.lines.at(1), HasSubstr("tensor `a`: CRC-32C expected"));
}

TEST_F(CheckpointFolderTest, AnotherConfigurationIsFound) {
  put("config.json", "[]");
  EXPECT_EQ(refusal().code, "E611");
  put("config.json", "{ }");
  EXPECT_THAT(refusal().lines.at(1), HasSubstr("it has 3 bytes, expected 2"));
}

TEST_F(CheckpointFolderTest, ADamagedManifestIsRefused) {
  flip_last_byte(kManifestName);
  EXPECT_EQ(refusal().exit, ExitCode::corrupt);
}

TEST_F(CheckpointFolderTest, NamesOutsideTheFolderAreNotOpened) {
  CheckpointManifest manifest;
  manifest.files["../secret"] = {1, "", {}};
  put(kManifestName, to_json(manifest));
  EXPECT_EQ(refusal().code, "");
}

}  // namespace
}  // namespace mgpu::formats
