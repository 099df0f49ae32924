// Tests kills at each kind of call by which the store makes data durable, and at random times. Also
// tests disk errors and full disks. In each case the same command finally gives the same bytes.
// MGPU_CRASH_SECONDS=600 makes the random part longer.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <sys/mount.h>

#include <gtest/gtest.h>

#include <mgpu/base/file_io.hpp>

#include "child_process.hpp"

namespace mgpu::store {
namespace {

constexpr int kKilled = 137;
constexpr int kInUse = 81;
constexpr double kDeadline = 30.0;

/// Starts store_crash_program in a separate folder.
class CrashTest : public testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mgpu_crash_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  static std::vector<std::string> command(const fs::path& output, int ranks) {
    std::vector<std::string> words = {MGPU_CRASH_PROGRAM, output.string(), "1500", "4"};
    if (ranks > 1) {  // one rank needs no mpirun
      const std::vector<std::string> front = {MGPU_MPIEXEC,
                                              "--oversubscribe",
                                              "--bind-to",
                                              "none",
                                              "--mca",
                                              "mpi_yield_when_idle",
                                              "1",
                                              "-np",
                                              std::to_string(ranks)};
      words.insert(words.begin(), front.begin(), front.end());
    }
    return words;
  }

  test::Ended run(const fs::path& output, int ranks, const std::string& failpoint = "") {
    std::vector<std::string> environment = scratch();
    if (!failpoint.empty()) {
      environment.insert(environment.end(), {"MGPU_TESTING=1", "MGPU_FAILPOINT=" + failpoint});
    }
    return test::ChildProcess(command(output, ranks), environment, log()).wait(kDeadline);
  }

  /// Returns variables that move Open MPI's shared memory and session files to the test's folder,
  /// because killed ranks do not remove these files.
  std::vector<std::string> scratch() const {
    return {"OMPI_MCA_btl_vader_backing_directory=" + folder_.string(),
            "OMPI_MCA_orte_tmpdir_base=" + folder_.string()};
  }

  std::string log() const { return (folder_ / "log").string(); }
  std::string log_text() const { return read_file(log()); }

  /// Returns the hashes of all results below `output`.
  static std::set<std::string> results(const fs::path& output) {
    std::set<std::string> hashes;
    std::error_code none;
    for (const fs::directory_entry& run : fs::directory_iterator(output / "crash", none)) {
      if (fs::exists(run.path() / "results.h5") && !run.is_symlink()) {
        hashes.insert(sha256_hex_of_file(run.path() / "results.h5"));
      }
    }
    return hashes;
  }

  /// Returns the hash of the results of an undisturbed run.
  std::string golden() {
    static std::string hash;
    if (!hash.empty()) return hash;
    EXPECT_EQ(run(folder_ / "golden", 2).exit, 0) << log_text();
    const std::set<std::string> hashes = results(folder_ / "golden");
    EXPECT_EQ(hashes.size(), 1U);
    return hash = *hashes.begin();
  }

  fs::path folder_;
};

const std::vector<std::string>& places() {
  static const std::vector<std::string> kPlaces = {
      "lease.create",    "lease.rename",   "run record.write", "run record.rename",
      "attempt.write",   "attempt.rename", "ledger.create",    "ledger.write",
      "ledger.sync",     "ledger.close",   "ledger.dirsync",   "results.create",
      "results.reserve", "results.open",   "results.write",    "results.close",
      "results.sync",    "results.verify", "results.rename",   "results.dirsync"};
  return kPlaces;
}

TEST_F(CrashTest, KillAtEveryDurableCallEndsWithTheSameBytes) {
  const std::string expected = golden();
  int ranks = 1;

  for (const std::string& place : places()) {
    const fs::path output = folder_ / place;
    EXPECT_EQ(run(output, 1, place + ":1:kill").exit, kKilled) << place;
    ranks = ranks % 3 + 1;
    EXPECT_EQ(run(output, ranks).exit, 0) << place << '\n' << log_text();
    EXPECT_EQ(results(output), std::set<std::string>{expected}) << place;
    EXPECT_FALSE(testing::Test::HasFatalFailure());
  }
}

TEST_F(CrashTest, KillAtLaterArrivalsUntilThereAreNone) {
  const std::string expected = golden();

  for (const std::string place : {"ledger.write", "results.write"}) {
    bool is_over = false;
    for (int arrival = 3; arrival < 400 && !is_over; arrival = arrival * 5) {
      const fs::path output = folder_ / (place + std::to_string(arrival));
      const int ended = run(output, 1, place + ":" + std::to_string(arrival) + ":kill").exit;
      is_over = ended == 0;
      EXPECT_TRUE(is_over || ended == kKilled) << place << ' ' << arrival << '\n' << log_text();
      if (!is_over) {
        EXPECT_EQ(run(output, 2).exit, 0) << place << ' ' << arrival << log_text();
      }
      EXPECT_EQ(results(output), std::set<std::string>{expected}) << place << ' ' << arrival;
    }
  }
}

TEST_F(CrashTest, KillOfOneRankOfThree) {
  const std::string expected = golden();

  for (const std::string place : {"ledger.write@1:3", "results.write@2:2", "results.verify@1:1"}) {
    const fs::path output = folder_ / place;
    EXPECT_EQ(run(output, 3, place + ":kill").exit, kKilled) << place << '\n' << log_text();
    EXPECT_EQ(run(output, 2).exit, 0) << place << '\n' << log_text();
    EXPECT_EQ(results(output), std::set<std::string>{expected}) << place;
  }
}

TEST_F(CrashTest, AFailingDiskEndsAllRanksWith74AndPublishesNothing) {
  const std::string expected = golden();

  for (const std::string plan :
       {"ledger.write@1:2:short", "ledger.sync@1:1:EIO", "results.write@1:1:ENOSPC",
        "results.write:9:ENOSPC", "results.rename:1:EDQUOT"}) {
    const fs::path output = folder_ / plan;
    const test::Ended ended = run(output, 2, plan);
    EXPECT_EQ(ended.exit, 74) << plan << '\n' << log_text();
    EXPECT_LT(ended.seconds, 5.0) << plan;
    EXPECT_NE(log_text().find("error[E602]"), std::string::npos) << log_text();
    EXPECT_EQ(results(output), std::set<std::string>{}) << plan;
    EXPECT_EQ(run(output, 1).exit, 0) << plan << '\n' << log_text();
    EXPECT_EQ(results(output), std::set<std::string>{expected}) << plan;
  }
}

/// A small file system, unmounted at the end.
class SmallDisk {
public:
  explicit SmallDisk(const fs::path& folder) : folder_(folder) {
    fs::create_directories(folder);
    is_mounted_ = ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=400k") == 0;
  }
  ~SmallDisk() {
    if (is_mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool is_mounted() const { return is_mounted_; }
  bool grow(const std::string& size) const {
    return ::mount("tmpfs", folder_.c_str(), "tmpfs", MS_REMOUNT, ("size=" + size).c_str()) == 0;
  }

private:
  fs::path folder_;
  bool is_mounted_ = false;
};

TEST_F(CrashTest, AFullDiskEndsWith74AndTheSameCommandFinishesWhenThereIsSpace) {
  const std::string expected = golden();
  const fs::path output = folder_ / "disk";
  const SmallDisk disk(output);
  if (!disk.is_mounted()) GTEST_SKIP() << "cannot mount a tmpfs here: full disk not tested";

  // With the first sizes, the disk becomes full while the program writes the ledger, the layout or
  // the texts. The last size is large enough.
  std::vector<int> exits;
  for (const std::string size : {"100k", "220k", "360k", "2m"}) {
    ASSERT_TRUE(disk.grow(size));
    const test::Ended ended = run(output, 2);
    exits.push_back(ended.exit);
    if (ended.exit == 0) break;
    EXPECT_EQ(ended.exit, 74) << size << '\n' << log_text();
    EXPECT_LT(ended.seconds, 5.0) << size;
    EXPECT_EQ(results(output), std::set<std::string>{}) << size;
  }

  EXPECT_EQ(exits.front(), 74);
  EXPECT_EQ(exits.back(), 0) << log_text();
  EXPECT_EQ(results(output), std::set<std::string>{expected});
}

TEST_F(CrashTest, MergeOfAnUnfinishedRunThenTheRest) {
  const std::string expected = golden();
  const fs::path output = folder_ / "merge";
  EXPECT_EQ(run(output, 1, "ledger.write:40:kill").exit, kKilled);
  std::vector<std::string> words = command(output, 2);
  words.push_back("merge");

  EXPECT_EQ(test::ChildProcess(words, scratch(), log()).wait(kDeadline).exit, 0) << log_text();

  EXPECT_EQ(results(output).size(), 1U);
  EXPECT_NE(results(output), std::set<std::string>{expected});
  EXPECT_EQ(run(output, 2).exit, 0) << log_text();
  EXPECT_EQ(results(output), std::set<std::string>{expected});
}

/// Returns whether a run in the folder `runs` has begun its first attempt.
bool has_begun(const fs::path& runs) {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(runs, none))
    if (fs::exists(entry.path() / "attempts" / "0001.json")) return true;
  return false;
}

TEST_F(CrashTest, ASecondProcessIsRefusedWith81AndToldWhoIsThere) {
  const fs::path output = folder_ / "both";
  std::vector<std::string> environment = scratch();
  environment.insert(environment.end(), {"MGPU_TESTING=1", "MGPU_FAILPOINT=ledger.write:20:stop"});
  test::ChildProcess first(command(output, 1), environment, log() + "1");
  for (int i = 0; i < 500 && !has_begun(output / "crash"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));

  const test::Ended second = run(output, 1);

  EXPECT_EQ(second.exit, 81) << log_text();
  EXPECT_LT(second.seconds, 3.0);  // 1.5 s for the lock, and the start of MPI
  EXPECT_NE(log_text().find("held by process " + std::to_string(first.pid())), std::string::npos)
      << log_text();
  ::kill(first.pid(), SIGKILL);
  EXPECT_EQ(first.wait(kDeadline).exit, kKilled);
  EXPECT_EQ(run(output, 1).exit, 0) << log_text();
}

/// Cuts off or overwrites the end of one ledger, like a power failure.
void damage_a_tail(const fs::path& output, std::mt19937& random) {
  std::vector<fs::path> ledgers;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(output)) {
    if (entry.path().extension() == ".ledger" && entry.file_size() > 0) {
      ledgers.push_back(entry.path());
    }
  }
  if (ledgers.empty()) return;
  std::sort(ledgers.begin(), ledgers.end());
  const fs::path& ledger = ledgers[random() % ledgers.size()];
  const std::uintmax_t size = fs::file_size(ledger);
  const std::uintmax_t bytes = 1 + random() % std::min<std::uintmax_t>(size, 3000);
  if (random() % 2 == 0) {
    fs::resize_file(ledger, size - bytes);
    return;
  }
  std::fstream file(ledger, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(size - bytes));
  for (std::uintmax_t i = 0; i < bytes; ++i)
    file.put(static_cast<char>(random()));
}

TEST_F(CrashTest, RandomKillsWithChangingRankCounts) {
  const char* text = std::getenv("MGPU_CRASH_SECONDS");
  const double seconds = text == nullptr ? 4.0 : std::atof(text);
  const std::string expected = golden();
  std::mt19937 random(4);
  const auto begun = std::chrono::steady_clock::now();
  int runs = 0;
  int kills = 0;

  while (std::chrono::steady_clock::now() - begun < std::chrono::duration<double>(seconds)) {
    const fs::path output = folder_ / ("random" + std::to_string(runs++));
    bool was_killed = false;
    for (int attempt = 0;; ++attempt) {
      const int ranks = 1 + static_cast<int>(random() % 4);
      test::ChildProcess child(command(output, ranks), scratch(), log());
      const bool is_killed = attempt < 3 && random() % 5 != 0;
      if (is_killed) {
        std::this_thread::sleep_for(std::chrono::milliseconds(250 + random() % 500));
        kills += ::kill(-child.pid(), SIGKILL) == 0 ? 1 : 0;
      }
      const int exit = child.wait(kDeadline).exit;
      if (exit == 0) break;
      // Ranks whose mpirun was killed may hold the lock for another second.
      if (exit == kInUse && was_killed) continue;
      was_killed = is_killed;
      ASSERT_TRUE(is_killed && exit == kKilled) << exit << '\n' << log_text();
      if (random() % 5 < 2 && fs::exists(output)) damage_a_tail(output, random);
    }
    EXPECT_EQ(results(output), std::set<std::string>{expected}) << "run " << runs;
    fs::remove_all(output);
  }
  std::printf("%d runs, %d kills\n", runs, kills);
}

}  // namespace
}  // namespace mgpu::store
