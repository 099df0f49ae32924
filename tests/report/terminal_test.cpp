#include <fstream>
#include <map>

#include <unistd.h>

#include <gtest/gtest.h>

#include <mgpu/report/terminal.hpp>

namespace mgpu::report {
namespace {

/// A simulated machine: a process tree in a folder, an environment, and one screen at /dev/pts/7
/// that is 132 columns wide.
class TerminalTest : public testing::Test {
protected:
  TerminalTest() : proc_(fs::path(testing::TempDir()) / ("proc." + std::to_string(getpid()))) {
    fs::remove_all(proc_);
    source_.proc = proc_;
    source_.parent = 100;
    source_.variable = [this](const std::string& name) { return environment_[name]; };
    source_.is_terminal = [this](int fd) { return fd == 1 ? own_out_ : own_err_; };
    source_.is_terminal_path = [](const fs::path& path) { return path == "/dev/pts/7"; };
    source_.columns_of = [](const fs::path& path) { return path == "/dev/pts/7" ? 132 : 0; };
  }
  ~TerminalTest() override { fs::remove_all(proc_); }

  void process(int pid, const std::string& name, int parent, const fs::path& out = "/dev/null",
               const fs::path& err = "/dev/null") {
    fs::create_directories(proc_ / std::to_string(pid) / "fd");
    std::ofstream(proc_ / std::to_string(pid) / "status")
        << "Name:\t" << name << "\nUmask:\t0022\nPPid:\t" << parent << "\n";
    fs::create_symlink(out, proc_ / std::to_string(pid) / "fd/1");
    fs::create_symlink(err, proc_ / std::to_string(pid) / "fd/2");
  }

  fs::path proc_;
  TerminalSource source_;
  std::map<std::string, std::string> environment_;
  bool own_out_ = true;  // Open MPI gives every rank a terminal as stdout
  bool own_err_ = false;
};

TEST_F(TerminalTest, TheLaunchersScreenCountsUnderMpirun) {
  process(100, "mpirun", 50, "/dev/pts/7", "/dev/pts/7");

  const Terminal terminal = probe_terminal(ColorMode::automatic, source_);

  EXPECT_EQ(terminal, (Terminal{true, true, 132, true, false}));
}

TEST_F(TerminalTest, ALauncherThatWritesToAFileHasNoScreen) {
  process(100, "prterun", 50, "/home/me/log", "/home/me/log");

  const Terminal terminal = probe_terminal(ColorMode::automatic, source_);

  EXPECT_EQ(terminal, (Terminal{false, false, 80, false, false}));
}

TEST_F(TerminalTest, AWrapperBetweenLauncherAndProgramIsSeenThrough) {
  process(100, "numactl", 90);
  process(90, "bash", 80);
  process(80, "mpiexec", 50, "pipe:[1]", "/dev/pts/7");

  const Terminal terminal = probe_terminal(ColorMode::automatic, source_);

  EXPECT_TRUE(terminal.is_screen);
  EXPECT_FALSE(terminal.stdout_is_screen);
}

TEST_F(TerminalTest, WithoutALauncherTheOwnDescriptorsCount) {
  process(100, "bash", 50, "/dev/pts/7", "/dev/pts/7");
  own_err_ = true;
  EXPECT_TRUE(probe_terminal(ColorMode::automatic, source_).is_screen);
  own_err_ = false;
  EXPECT_FALSE(probe_terminal(ColorMode::automatic, source_).is_screen);
}

TEST_F(TerminalTest, ASlurmStepHasAScreenOnlyWhenTold) {
  process(100, "slurmstepd", 1, "/dev/pts/7", "/dev/pts/7");
  EXPECT_FALSE(probe_terminal(ColorMode::automatic, source_).is_screen);
  environment_["MGPU_TTY"] = "1";
  environment_["MGPU_COLUMNS"] = "100";
  EXPECT_EQ(probe_terminal(ColorMode::automatic, source_).columns, 100);
  EXPECT_TRUE(probe_terminal(ColorMode::automatic, source_).is_screen);
}

TEST_F(TerminalTest, VariablesOverruleWhatIsSeen) {
  process(100, "mpirun", 50, "/dev/pts/7", "/dev/pts/7");
  environment_["MGPU_TTY"] = "0";
  EXPECT_FALSE(probe_terminal(ColorMode::automatic, source_).is_screen);
  environment_ = {{"TERM", "dumb"}};
  EXPECT_FALSE(probe_terminal(ColorMode::automatic, source_).is_screen);
  environment_ = {{"MGPU_COLUMNS", "wide"}};
  EXPECT_EQ(probe_terminal(ColorMode::automatic, source_).columns, 132);
}

TEST_F(TerminalTest, ColorFollowsTheOptionThenTheVariables) {
  process(100, "mpirun", 50, "/dev/pts/7", "/dev/pts/7");
  environment_["NO_COLOR"] = "1";
  EXPECT_FALSE(probe_terminal(ColorMode::automatic, source_).color);
  EXPECT_TRUE(probe_terminal(ColorMode::always, source_).color);
  environment_ = {{"FORCE_COLOR", "1"}, {"MGPU_TTY", "0"}};
  EXPECT_TRUE(probe_terminal(ColorMode::automatic, source_).color);
  EXPECT_FALSE(probe_terminal(ColorMode::never, source_).color);
}

TEST_F(TerminalTest, TheFirstLocaleVariableThatIsSetDecides) {
  process(100, "mpirun", 50, "/dev/pts/7", "/dev/pts/7");
  environment_["LANG"] = "de_DE.utf8";
  EXPECT_TRUE(probe_terminal(ColorMode::automatic, source_).utf8);
  environment_["LC_ALL"] = "C";
  EXPECT_FALSE(probe_terminal(ColorMode::automatic, source_).utf8);
}

TEST(ProgressModeTest, AutoIsABarOnAScreenOnly) {
  EXPECT_EQ(choose_progress(ProgressMode::automatic, {.is_screen = true}), ProgressMode::bar);
  EXPECT_EQ(choose_progress(ProgressMode::automatic, {}), ProgressMode::lines);
  EXPECT_EQ(choose_progress(ProgressMode::off, {.is_screen = true}), ProgressMode::off);
  EXPECT_EQ(progress_mode_of("bar"), ProgressMode::bar);
  EXPECT_ANY_THROW(progress_mode_of("barr"));
  EXPECT_EQ(color_mode_of("never"), ColorMode::never);
  EXPECT_ANY_THROW(color_mode_of("no"));
}

}  // namespace
}  // namespace mgpu::report
