// Tests killed processes, I/O errors and full disks at every step of a save. Each run is a child
// process, or several under mpiexec.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include <mgpu/base/file_io.hpp>
#include <mgpu/store/checkpoint/checkpoint_folder.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu::store {
namespace {

using testing::HasSubstr;

constexpr int kKilled = 128 + 9;
constexpr int kIo = 74;
const std::vector<std::string> kPlaces = {"mkdir", "create",  "reserve", "write", "sync",
                                          "close", "dirsync", "rename",  "link",  "remove"};

struct Outcome {
  int code = 0;
  std::string output;
};

class CheckpointFailureTest : public testing::Test {
protected:
  /// Runs the child process on the run directory, and returns its exit code and output. `failpoint`
  /// is a name without its prefix "checkpoint.", or "" for no failpoint.
  Outcome run(const std::string& launcher, const std::string& steps, const std::string& failpoint) {
    const std::string log = (folder_.path() / "log").string();
    const std::string environment =
        failpoint.empty() ? "" : "MGPU_TESTING=1 MGPU_FAILPOINT=checkpoint." + failpoint + " ";
    const std::string command =
        environment + launcher + " " + root_.string() + " " + steps + " >" + log + " 2>&1";
    const int status = std::system(command.c_str());
    return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status), read_file(log)};
  }

  /// Makes the directory of a run that saved steps 1 (best), 2 and 3. It has the newest two
  /// checkpoints and the best.
  void start_afresh() {
    if (!fs::exists(template_)) {
      fs::create_directory(root_);
      ASSERT_EQ(run(kAlone, "1 2 3", "").code, 0);
      fs::rename(root_, template_);
    }
    fs::remove_all(root_);
    fs::copy(template_, root_, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }

  /// Expects that a load prints a line that `old_or_new` contains, and that only checkpoints remain
  /// after the next save.
  void expect_whole(const std::string& launcher, const std::string& old_or_new) {
    const Outcome next = run(launcher, "9", "");
    EXPECT_EQ(next.code, 0) << next.output;
    EXPECT_THAT(old_or_new, HasSubstr(next.output.substr(0, next.output.find('\n'))));
    for (const auto& entry : fs::directory_iterator(root_ / "ckpt"))
      EXPECT_EQ(entry.path().filename().string().find('.'), std::string::npos) << entry.path();
  }

  static inline const std::string kAlone = std::string(MGPU_CHILD) + " local";
  testing_support::TemporaryFolder folder_;
  fs::path template_ = folder_.path() / "template";
  fs::path root_ = folder_.path() / "run";
};

/// Returns the command that starts the child process on n ranks. The ranks use TCP, because a
/// killed rank would not remove its shared memory.
std::string ranks(int n) {
  return std::string(MGPU_MPIEXEC) + " --oversubscribe --mca mpi_yield_when_idle 1 --bind-to none" +
         " --mca btl self,tcp -np " + std::to_string(n) + " " + MGPU_CHILD + " mpi";
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++n;
  return n;
}

/// A small separate file system. It is not mounted if the system does not allow that.
class SmallDisk {
public:
  SmallDisk(fs::path path, const char* options)
      : path_(std::move(path)),
        mounted_(::mount("tmpfs", path_.c_str(), "tmpfs", 0, options) == 0) {}
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) ::umount(path_.c_str());
  }
  bool mounted() const { return mounted_; }

private:
  fs::path path_;
  bool mounted_;
};

// Saves step 4 as a new checkpoint, and step 3 again, which replaces the old one.
TEST_F(CheckpointFailureTest, DeathAtEveryPlaceLeavesTheOldOrTheNewCheckpoint) {
  int deaths = 0;
  for (const char* step : {"4", "3"}) {
    for (const std::string& place : kPlaces) {
      for (int n = 1;; ++n) {
        start_afresh();
        const Outcome killed = run(kAlone, step, place + ":" + std::to_string(n) + ":kill");
        if (killed.code == 0) break;
        ASSERT_EQ(killed.code, kKilled) << place << " " << n << ": " << killed.output;
        ++deaths;
        expect_whole(kAlone, std::string("loaded 3 loaded ") + step);
        if (HasFailure()) FAIL() << "step " << step << ", " << place << " " << n;
      }
    }
  }
  EXPECT_GT(deaths, 60);
  RecordProperty("deaths", deaths);
}

TEST_F(CheckpointFailureTest, ErrorAtEveryPlaceEndsWith74AndKeepsTheOthers) {
  int errors = 0;
  for (const char* error : {"ENOSPC", "EIO", "short"}) {
    for (const std::string& place : kPlaces) {
      for (int n = 1;; ++n) {
        start_afresh();
        const Outcome failed = run(kAlone, "4", place + ":" + std::to_string(n) + ":" + error);
        if (failed.code == 0) break;
        ASSERT_EQ(failed.code, kIo) << place << " " << n << " " << error << ": " << failed.output;
        EXPECT_THAT(failed.output, HasSubstr("error[E602]: cannot write the checkpoint"));
        ++errors;
        for (const char* old : {"step_00000001", "step_00000003"})
          EXPECT_NO_THROW(StoredCheckpoint(root_ / "ckpt" / old)) << place << " " << n;
        expect_whole(kAlone, "loaded 3 loaded 4");
        if (HasFailure()) FAIL() << place << " " << n << " " << error;
      }
    }
  }
  EXPECT_GT(errors, 90);
}

TEST_F(CheckpointFailureTest, AllRanksLeaveWith74) {
  for (const std::string& place : kPlaces) {
    start_afresh();
    const Outcome failed = run(ranks(3), "4", place + ":1:ENOSPC");
    EXPECT_EQ(failed.code, kIo) << place << ": " << failed.output;
    EXPECT_EQ(count(failed.output, "error[E602]: cannot write the checkpoint: No space left"), 3U)
        << place << ": " << failed.output;
    expect_whole(kAlone, "loaded 3 loaded 4");
  }
}

TEST_F(CheckpointFailureTest, DeathOfAGroupLeavesTheOldOrTheNewCheckpoint) {
  for (const char* place : {"write:5:kill", "rename:1:kill", "rename:2:kill", "remove:1:kill"}) {
    start_afresh();
    EXPECT_EQ(run(ranks(2), "4", place).code, kKilled) << place;
    expect_whole(ranks(2), "loaded 3 loaded 4");
  }
}

TEST_F(CheckpointFailureTest, AFullDiskEndsWith74AndResumes) {
  fs::create_directory(root_);
  const SmallDisk disk(root_, "size=96k");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a tmpfs needs root";
  EXPECT_EQ(run(kAlone, "1 2 3", "").code, 0);
  std::ofstream(root_ / "filler") << std::string(96 << 10, 'x');

  const Outcome full = run(ranks(2), "4", "");
  EXPECT_EQ(full.code, kIo) << full.output;
  EXPECT_THAT(full.output, HasSubstr("No space left on device"));
  EXPECT_THAT(full.output, HasSubstr("free some space"));
  fs::remove(root_ / "filler");
  expect_whole(kAlone, "loaded 3");
}

}  // namespace
}  // namespace mgpu::store
