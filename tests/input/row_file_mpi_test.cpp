// Tests that all ranks see the same rows and errors of a file.
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/cluster/group.hpp>
#include <mgpu/input/row_file.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu::input {
namespace {

using testing::HasSubstr;

/// A file that rank 0 makes, and options that read it on every rank.
class SharedFile {
public:
  SharedFile(const cluster::Group& world, const std::string& name, const std::string& text) {
    std::string path;
    if (world.rank() == 0) {
      folder_.emplace();
      path = (folder_->path() / name).string();
      std::ofstream(path, std::ios::binary) << text;
    }
    options.path = world.broadcast(path, 0);
  }

  RowOptions options;

private:
  std::optional<testing_support::TemporaryFolder> folder_;
};

std::string lines(int rows) {
  std::string text;
  for (int i = 0; i < rows; ++i)
    text += "{\"key\": " + std::to_string(i) + ", \"text\": \"row " + std::to_string(i) + "\"}\n";
  return text;
}

/// Returns the exit code and the report of the failure, which all ranks throw. Returns "" without
/// a failure. Ranks: collective.
std::string refusal(const cluster::Group& world, const RowOptions& options) {
  std::string shown;
  try {
    open_rows(world, options);
  } catch (const Failure& failure) {
    shown = std::to_string(static_cast<int>(failure.exit_code())) + " " + render(failure.report());
  }
  for (const std::string& theirs : world.all_gather(shown))
    EXPECT_EQ(theirs, shown);
  return shown;
}

TEST(RowFileMpiTest, AllRanksReadTheSameRows) {
  const auto world = cluster::Group::world();
  SharedFile made(world, "data.jsonl", lines(1000));
  made.options.columns = {{"id", "key"}};
  made.options.start = 10;

  const RowFile file = open_rows(world, made.options);
  std::string read;
  for (const Row& row : file.read(300, 100))
    read += std::to_string(row.line) + *row.object.find("text")->text() + row.problem + "\n";

  EXPECT_EQ(file.rows(), 990);
  EXPECT_THAT(read, testing::StartsWith("311row 310\n312row 311\n"));
  for (const std::string& theirs : world.all_gather(read))
    EXPECT_EQ(theirs, read);
  world.barrier();  // rank 0's folder is removed with the file
}

TEST(RowFileMpiTest, BadRowsOfAllSharesBecomeOneError) {
  const auto world = cluster::Group::world();
  const SharedFile made(world, "data.jsonl",
                        "first\n" + lines(500) + "middle\n" + lines(500) + "last\n");

  const std::string shown = refusal(world, made.options);

  EXPECT_THAT(shown, testing::StartsWith("65 error[E531]: 3 lines"));
  for (const char* place : {"data.jsonl:1: ", "data.jsonl:502: ", "data.jsonl:1003: "})
    EXPECT_THAT(shown, HasSubstr(place));
}

TEST(RowFileMpiTest, AnIdMayNotBeThatOfAnotherRanksRow) {
  const auto world = cluster::Group::world();
  SharedFile made(world, "data.jsonl", lines(700) + "{\"key\": 3, \"text\": \"again\"}\n");
  made.options.columns = {{"id", "key"}};
  EXPECT_THAT(refusal(world, made.options),
              HasSubstr("data.jsonl:701: its `id` is that of line 4"));

  made.options.on_bad_row = BadRow::mark;
  const RowFile file = open_rows(world, made.options);

  EXPECT_EQ(file.read(700, 1).at(0).problem, "its `id` is that of line 4");
  EXPECT_EQ(file.read(3, 1).at(0).problem, "");
  world.barrier();
}

TEST(RowFileMpiTest, AFileThatIsMissingIsMissedByAll) {
  const auto world = cluster::Group::world();
  SharedFile made(world, "data.jsonl", "{}\n");
  made.options.path += ".jsonl";

  EXPECT_THAT(refusal(world, made.options), testing::StartsWith("66 error[E603]"));
}

TEST(RowFileMpiTest, ARankThatDoesNotSeeTheFileNamesItsHost) {
  const auto world = cluster::Group::world();
  SharedFile made(world, "data.jsonl", lines(3));
  const bool is_last = world.size() > 1 && world.rank() == world.size() - 1;
  if (is_last) made.options.path = made.options.path.parent_path() / "elsewhere.jsonl";

  const std::string shown = refusal(world, made.options);

  if (world.size() == 1) {
    EXPECT_EQ(shown, "");
  } else {
    EXPECT_THAT(shown, HasSubstr("error[E603]"));
    EXPECT_THAT(shown, HasSubstr("on host "));
    EXPECT_THAT(shown, HasSubstr("rank " + std::to_string(world.size() - 1)));
  }
}

TEST(RowFileMpiTest, ARankThatSeesAnotherFileIsFound) {
  const auto world = cluster::Group::world();
  SharedFile made(world, "data.jsonl", lines(3));
  SharedFile other(world, "data.jsonl", lines(4));
  const bool is_last = world.size() > 1 && world.rank() == world.size() - 1;

  const std::string shown = refusal(world, is_last ? other.options : made.options);

  EXPECT_EQ(shown.empty(), world.size() == 1);
  EXPECT_TRUE(shown.empty() || shown.find("error[E534]") != std::string::npos) << shown;
}

}  // namespace
}  // namespace mgpu::input
