#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/base/missing_file.hpp>

namespace mgpu {
namespace {

class FileIoTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mgpu_file_io_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(FileIoTest, WritesDurablyAndReadsBack) {
  write_file_durably(folder_ / "a.txt", "hello", "summary");
  EXPECT_EQ(read_file(folder_ / "a.txt"), "hello");
  EXPECT_FALSE(fs::exists(folder_ / "a.txt.tmp"));
}

TEST_F(FileIoTest, AppendsAndRefusesASecondCreation) {
  DurableFile file(folder_ / "log", "ledger", DurableFile::Mode::create_new);
  file.reserve(4096);
  file.write("ab");
  file.write("cd");
  file.sync();
  file.close();
  EXPECT_EQ(read_file(folder_ / "log"), "abcd");
  EXPECT_THROW(DurableFile(folder_ / "log", "ledger", DurableFile::Mode::create_new), Failure);
}

TEST_F(FileIoTest, NamesWhatCannotBeCreated) {
  try {
    DurableFile file(folder_ / "no" / "such", "ledger", DurableFile::Mode::create_new);
    FAIL() << "created a file in a folder that does not exist";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::cannot_create);
    EXPECT_NE(std::string(failure.what()).find("no/such"), std::string::npos);
  }
}

TEST_F(FileIoTest, SaysWhichFileIsMissing) {
  try {
    read_file(folder_ / "missing");
    FAIL() << "read a missing file";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::no_input);
  }
  EXPECT_THROW(read_file(folder_), Failure);
}

TEST_F(FileIoTest, RefusesAFileOverTheLimit) {
  write_file_durably(folder_ / "big", std::string(100, 'x'), "summary");
  EXPECT_THROW(read_file(folder_ / "big", 99), Failure);
  EXPECT_EQ(read_file(folder_ / "big", 100).size(), 100U);
}

// RFC 3720, B.4, lists these values for 32 bytes: all 0, all 0xff, and the numbers 0 to 31.
TEST(Crc32cTest, GivesThePublishedValues) {
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  std::string rising(32, '\0');
  for (std::size_t i = 0; i < rising.size(); ++i)
    rising[i] = static_cast<char>(i);
  EXPECT_EQ(crc32c(rising), 0x46dd794eU);
  EXPECT_EQ(crc32c(rising.substr(11), crc32c(rising.substr(0, 11))), 0x46dd794eU);
}

// FIPS 180-4 example: "abc".
TEST(Sha256Test, GivesThePublishedDigest) {
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(FileIoTest, SaysWhatAPathIsThatIsNoFile) {
  const fs::path file = folder_ / "file";
  EXPECT_EQ(missing_file(file), "there is no such file: " + file.string());
  write_file_durably(file, "text", "file");
  EXPECT_EQ(missing_file(file), std::nullopt);
  EXPECT_EQ(missing_file("/dev/null"), "this is not a regular file: /dev/null");
  EXPECT_EQ(missing_file(folder_), "this is not a regular file: " + folder_.string());
}

}  // namespace
}  // namespace mgpu
