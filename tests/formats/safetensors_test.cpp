#include <cstring>
#include <fstream>
#include <functional>
#include <numeric>
#include <random>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/safetensors.hpp>

#include "support/mutants.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::formats {
namespace {

using testing::HasSubstr;

NamedTensor tensor(std::string name, std::vector<std::int64_t> shape, std::vector<float>& values) {
  return {std::move(name), std::move(shape), {values.data(), values.size(), DType::f32, {}}};
}

/// Makes a file from a header and data, with the header's length in front.
std::string file_of(const std::string& header, const std::string& data = "") {
  std::string length(8, '\0');
  for (std::size_t i = 0; i < 8; ++i)
    length[i] = static_cast<char>((header.size() >> (8 * i)) & 0xff);
  return length + header + data;
}

class SafetensorsTest : public testing::Test {
protected:
  fs::path put(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    return path_;
  }

  /// Returns the report of opening a file with these bytes; its code is "" if the file was
  /// accepted.
  ErrorReport refusal(const std::string& bytes) {
    try {
      SafetensorsFile file(put(bytes));
      return {};
    } catch (const Failure& failure) {
      return failure.report();
    }
  }

  void expect_refused(const std::string& bytes, const std::string& reason) {
    const ErrorReport report = refusal(bytes);
    EXPECT_EQ(report.code, "E621") << reason;
    EXPECT_EQ(report.exit, ExitCode::data);
    EXPECT_THAT(report.sentence, HasSubstr(reason));
    EXPECT_THAT(report.lines.at(0), HasSubstr(path_.string()));
  }

  testing_support::TemporaryFolder folder_;
  fs::path path_ = folder_.path() / "a.safetensors";
};

TEST_F(SafetensorsTest, ReadsWhatItWrote) {
  std::vector<float> matrix{1, 2, 3, 4, 5, 6};
  std::vector<float> scalar{7};
  std::vector<float> none;
  std::vector<std::uint8_t> bytes{1, 2, 3};
  const std::vector<NamedTensor> tensors{{"bytes", {3}, {bytes.data(), 3, DType::u8, {}}},
                                         tensor("w", {2, 3}, matrix),
                                         tensor("none", {0, 5}, none),
                                         tensor("scalar", {}, scalar)};

  const SafetensorsDigest digest =
      write_safetensors(path_, tensors, {{"format", "pt"}, {"z\"\n", "\xc3\xa9"}});
  const SafetensorsFile file(path_);

  EXPECT_EQ(digest.bytes, fs::file_size(path_));
  EXPECT_EQ(digest.bytes, safetensors_bytes(tensors, file.metadata()));
  EXPECT_EQ(digest.sha256, sha256_hex_of_file(path_));
  EXPECT_EQ(file.metadata().at("z\"\n"), "\xc3\xa9");
  ASSERT_NE(file.find("w"), nullptr);
  EXPECT_EQ(file.find("w")->shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(file.find("w")->dtype, DType::f32);
  EXPECT_EQ(std::memcmp(file.find("w")->bytes.data(), matrix.data(), 24), 0);
  EXPECT_EQ(digest.tensors.at("w"), crc32c(file.find("w")->bytes));
  EXPECT_TRUE(file.find("none")->bytes.empty());
  EXPECT_TRUE(file.find("scalar")->shape.empty());
  EXPECT_EQ(file.tensors().size(), 4U);
  EXPECT_EQ(file.find("x"), nullptr);
}

TEST_F(SafetensorsTest, BytesDoNotDependOnTheOrderOfTheTensors) {
  std::vector<float> one{1};
  std::vector<double> two{2};
  const NamedTensor a = tensor("a", {1}, one);
  const NamedTensor b = {"b", {1}, {two.data(), 1, DType::f64, {}}};

  const auto first = write_safetensors(folder_.path() / "1", std::vector{a, b}, {});
  const auto second = write_safetensors(folder_.path() / "2", std::vector{b, a}, {});

  EXPECT_EQ(first.sha256, second.sha256);
  EXPECT_EQ(SafetensorsFile(folder_.path() / "1").tensors().front().name, "b");
}

TEST_F(SafetensorsTest, EveryTypeComesBackAndIsAligned) {
  std::vector<std::uint64_t> room(4);
  std::vector<NamedTensor> tensors;
  for (int i = 0; i <= static_cast<int>(DType::u64); ++i) {
    tensors.push_back({std::string("t").append(std::to_string(i)),
                       {3},
                       {room.data(), 3, static_cast<DType>(i), {}}});
  }
  write_safetensors(path_, tensors, {});
  const SafetensorsFile file(path_);
  for (const NamedTensor& t : tensors) {
    const StoredTensor* stored = file.find(t.name);
    ASSERT_NE(stored, nullptr);
    EXPECT_EQ(stored->dtype, t.view.dtype);
    const auto place = reinterpret_cast<std::uintptr_t>(stored->bytes.data());
    EXPECT_EQ(place % size_of(t.view.dtype), 0U) << t.name;
  }
}

TEST_F(SafetensorsTest, RefusesToWriteWhatCannotBeRead) {
  std::vector<float> two{1, 2};
  const auto write = [&](std::vector<NamedTensor> tensors) {
    write_safetensors(path_, tensors, {});
  };
  EXPECT_THROW(write({tensor("a", {3}, two)}), Error);
  EXPECT_THROW(write({tensor("a", {-1, -2}, two)}), Error);
  EXPECT_THROW(write({tensor("a", {2}, two), tensor("a", {2}, two)}), Error);
  EXPECT_THROW(write({tensor("\xff", {2}, two)}), Error);
  EXPECT_THROW(write({tensor("__metadata__", {2}, two)}), Error);
  EXPECT_THROW(write({{"a", {2}, {two.data(), 2, DType::f32, {DeviceKind::cuda, 0}}}}), Error);
  EXPECT_FALSE(fs::exists(path_));
}

TEST_F(SafetensorsTest, NamesAMissingFile) {
  try {
    SafetensorsFile file(folder_.path() / "missing");
    FAIL() << "opened a missing file";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::no_input);
  }
  EXPECT_THROW(SafetensorsFile(folder_.path()), Failure);
}

TEST_F(SafetensorsTest, SaysWhatAPickleOrAnLfsPointerIs) {
  const ErrorReport lfs =
      refusal("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n");
  EXPECT_EQ(lfs.code, "E622");
  EXPECT_EQ(lfs.exit, ExitCode::data);
  EXPECT_THAT(lfs.help, HasSubstr("git lfs pull"));
  EXPECT_EQ(refusal(std::string("PK\x03\x04\x14\0\0\0\0\0\0\0", 12)).code, "E622");
  EXPECT_THAT(refusal("\x80\x02}q\x01.").help, HasSubstr("safetensors.torch.save_file"));
  EXPECT_EQ(refusal("\x80\x04\x95\x10\x01\x02\x03\x04}q\x01.").code, "E622");
}

TEST_F(SafetensorsTest, RefusesBadLengths) {
  expect_refused("", "it has 0 bytes");
  expect_refused("1234567", "it has 7 bytes");
  expect_refused(std::string(8, '\0'), "does not start with {");
  expect_refused(std::string("\x40\0\0\0\0\0\0\0{}", 10), "claims more than the 2 bytes");
  expect_refused(std::string(8, '\xff') + "{}", "claims more than the 2 bytes");
}

TEST_F(SafetensorsTest, RefusesAHeaderOverTheFormatsLimit) {
  put(std::string("\x01\xe1\xf5\x05\0\0\0\0{", 9));  // 100,000,001
  fs::resize_file(path_, 100'000'100);
  try {
    SafetensorsFile file(path_);
    FAIL() << "accepted a header of 100,000,001 bytes";
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.report().sentence, HasSubstr("claims more than the 100000000 bytes"));
  }
}

TEST_F(SafetensorsTest, RefusesBadHeaders) {
  expect_refused(file_of("[]"), "does not start with {");
  expect_refused(file_of("{"), "not a JSON object");
  expect_refused(file_of("{\"a\xff\":1}"), "not a JSON object");
  expect_refused(file_of("{\"a\":" + std::string(5000, '[') + std::string(5000, ']') + "}"),
                 "not a JSON object");
  expect_refused(file_of(R"({"a":1})"), "its entry is not an object");
  expect_refused(file_of(R"({"a":{}})"), "is missing");
  expect_refused(file_of(R"({"__metadata__":{"a":1}})"), "is not a text");
  expect_refused(file_of(R"({"__metadata__":{"a":"1","a":"2"}})"), "comes twice");
  expect_refused(file_of(R"({"__metadata__":{},"__metadata__":{}})"), "comes twice");
  expect_refused(file_of(R"({"__metadata__":3})"), "is not an object");
}

/// Makes a file with one tensor `t` with these fields, and data after it.
std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets,
                std::size_t data = 8) {
  return file_of(
      R"({"t":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
      std::string(data, 'x'));
}

TEST_F(SafetensorsTest, RefusesBadEntries) {
  EXPECT_EQ(refusal(one(R"("F32")", "[2]", "[0,8]")).code, "");
  EXPECT_EQ(refusal(one(R"("F4")", "[16]", "[0,8]")).code, "");
  expect_refused(one(R"("F31")", "[2]", "[0,8]"), "unknown dtype `F31`");
  expect_refused(one("3", "[2]", "[0,8]"), "its dtype is not a text");
  expect_refused(one(R"("F32")", "[3]", "[0,8]"), "F32 [3] needs 12 bytes, the file gives it 8");
  expect_refused(one(R"("F4")", "[3]", "[0,8]"), "do not fill whole bytes");
  expect_refused(one(R"("F32")", "[-2]", "[0,8]"), "whole numbers");
  expect_refused(one(R"("F32")", "[2.0]", "[0,8]"), "whole numbers");
  expect_refused(one(R"("F32")", "2", "[0,8]"), "shape is not a list");
  expect_refused(one(R"("F32")", "[4294967296,4294967296,2]", "[0,8]"), "is too large");
  expect_refused(one(R"("F32")", "[2]", "[8,0]"), "are not [begin, end]");
  expect_refused(one(R"("F32")", "[2]", "[0]"), "are not [begin, end]");
  expect_refused(one(R"("F32")", "[2]", "[0,9223372036854775808]"), "whole numbers");
  expect_refused(one(R"("F32")", "[2]", "[8,16]"), "ends at byte 16 of 8");
  expect_refused(one(R"("F32")", R"([2],"shape":[2])", "[0,8]"), "field `shape` is unknown");
  expect_refused(one(R"("F32")", R"([2],"x":1)", "[0,8]"), "field `x` is unknown");
}

TEST_F(SafetensorsTest, RefusesHolesOverlapsAndTails) {
  const auto two = [](const std::string& a, const std::string& b, std::size_t data) {
    return file_of(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + a +
                       R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + b + "}}",
                   std::string(data, 'x'));
  };
  EXPECT_EQ(refusal(two("[4,8]", "[0,4]", 8)).code, "");
  expect_refused(two("[0,4]", "[5,9]", 9), "`b`: there is a hole before its data at byte 5");
  expect_refused(two("[0,4]", "[3,7]", 8), "`b`: its data overlaps another's at byte 3");
  expect_refused(two("[0,4]", "[0,4]", 8), "overlaps");
  expect_refused(two("[0,4]", "[4,8]", 9), "1 bytes follow the last tensor");
  expect_refused(
      one(R"("F32")", R"([2],"data_offsets":[0,8]},"t":{"dtype":"F32","shape":[0])", "[8,8]"),
      "`t` comes twice");
}

TEST_F(SafetensorsTest, MessagesCarryNoControlBytes) {
  const ErrorReport report = refusal(file_of("{\"a\\u001b[31m" + std::string(200, 'n') + "\":1}"));
  EXPECT_THAT(report.sentence, HasSubstr("`a?[31mnn"));
  EXPECT_THAT(report.sentence, HasSubstr("...`"));
  EXPECT_EQ(report.sentence.find('\x1b'), std::string::npos);
}

// For any bytes, opening must give a file or a Failure of exit 65.
TEST_F(SafetensorsTest, SurvivesMutatedFiles) {
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.0F);
  std::vector<float> few(values.begin(), values.begin() + 6);
  write_safetensors(path_,
                    std::vector{tensor("blocks.0.w", {4, 6}, values), tensor("bias", {6}, few)},
                    {{"format", "pt"}});
  const std::string good = read_file(path_);
  const std::string_view alphabet = "{}[]\",:0123456789-eF\\u\xff ";
  std::mt19937 random(1);
  const auto below = [&](std::size_t n) { return random() % n; };
  const int mutants = testing_support::mutants(10000);
  int refused = 0;
  for (int round = 0; round < mutants; ++round) {
    std::string bytes = good;
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      const std::size_t at = below(bytes.size());
      switch (below(5)) {
        case 0:
          bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
          break;
        case 1:
          bytes[at] = alphabet[below(alphabet.size())];
          break;
        case 2:
          bytes.erase(at, 1 + below(9));
          break;
        case 3:
          bytes.insert(at, bytes.substr(below(bytes.size()), below(20)));
          break;
        default:
          bytes.resize(std::max<std::size_t>(at, 1));
      }
      if (bytes.empty()) bytes.push_back('{');
    }
    const ErrorReport report = refusal(bytes);
    if (report.code.empty()) continue;
    ++refused;
    ASSERT_EQ(report.exit, ExitCode::data) << report.sentence;
  }
  EXPECT_GT(refused, mutants / 2);
}

}  // namespace
}  // namespace mgpu::formats
