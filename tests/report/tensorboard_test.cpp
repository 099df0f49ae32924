#include <chrono>
#include <csignal>

#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/report/tensorboard.hpp>

namespace mgpu::report {
namespace {

class TensorBoardTest : public testing::Test {
protected:
  TensorBoardTest() : folder_(fs::path(testing::TempDir()) / ("tb." + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~TensorBoardTest() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(TensorBoardTest, RecordsAreFramedWithMaskedChecksums) {
  TensorBoardFile file(folder_, "host", [] {
    return std::chrono::system_clock::time_point{std::chrono::seconds(1)};
  });
  file.scalar("train/loss", 300, 0.5);
  file.flush();

  // The expected bytes are written by hand from event.proto. The first record has length 24, the
  // masked CRC of the length, wall_time 1.0 and the version.
  const std::string bytes = read_file(file.path());
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x18\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(bytes.substr(12, 24), std::string("\x09\0\0\0\0\0\0\xF0\x3F\x1A\x0D"
                                              "brain.Event:2",
                                              24));
  // Field 2 is varint 300. Field 5 has 19 bytes: a value of 17 bytes, with tag and simple_value
  // 0.5f.
  EXPECT_EQ(bytes.substr(bytes.size() - 37, 33),
            std::string("\x09\0\0\0\0\0\0\xF0\x3F\x10\xAC\x02*\x13\x0A\x11\x0A\x0Atrain/loss\x15"
                        "\0\0\0?",
                        33));
}

TEST_F(TensorBoardTest, AWriteThatFailsIsKeptForTheNextCheck) {
  TensorBoardFile file(folder_, "host");
  struct rlimit before {};
  getrlimit(RLIMIT_FSIZE, &before);
  const struct rlimit tight { 100, before.rlim_max };
  signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &tight);
  file.text("config", std::string(1000, 'x'));
  EXPECT_NO_THROW(file.flush());
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NO_THROW(file.scalar("train/loss", 2, 1.0));

  try {
    file.check();
    FAIL() << "the failure was swallowed";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::io);
  }
}

TEST_F(TensorBoardTest, AFolderThatIsNotThereIsRefused) {
  EXPECT_THROW(TensorBoardFile(folder_ / "none", "host"), Failure);
}

}  // namespace
}  // namespace mgpu::report
