// Tests that the journals of several run directories are copied into one.
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/store/journal/journal_copy.hpp>

#include "sample_run.hpp"

namespace mgpu::store {
namespace {

namespace fs = std::filesystem;

class JournalCopyTest : public testing::Test {
protected:
  fs::path folder(const std::string& name) const { return folder_.path() / name; }

  /// Writes a journal of these chunks, and returns its folder. Chunk c has 10 + c bytes with the
  /// value `value` + c. The ranks write the chunks in turn.
  fs::path make(const std::string& name, std::uint32_t phase, std::vector<std::uint64_t> chunks,
                int value = 0) const {
    ChunkJournal journal(folder(name), world_, 1);
    for (const std::uint64_t chunk : chunks) {
      const int writer = static_cast<int>(chunk) % world_.size();
      const std::vector<std::byte> payload(
          10 + chunk, static_cast<std::byte>(static_cast<std::uint64_t>(value) + chunk));
      if (writer == world_.rank()) journal.append(phase, chunk, payload);
    }
    journal.commit();
    return folder(name);
  }

  std::string refusal(const std::array<fs::path, 2>& folders) const {
    ChunkJournal journal(folder("refused"), world_, 1);
    try {
      copy_chunks(world_, folders, journal);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.report().code, "E610");
      EXPECT_EQ(failure.exit_code(), ExitCode::data);
      return failure.report().sentence;
    }
    ADD_FAILURE() << "was copied";
    return "";
  }

  const cluster::Group world_ = cluster::Group::world();
  const test::SharedFolder folder_{world_};
};

TEST_F(JournalCopyTest, TakesEachChunkOnceAndLeavesTheSourcesAsTheyAre) {
  const std::array folders{make("a", 5, {0, 1, 2, 3}), make("b", 5, {3, 6, 7}), make("c", 5, {})};
  ChunkJournal journal(folder("all"), world_, 1);

  copy_chunks(world_, folders, journal);

  EXPECT_EQ(journal.done(5), (std::vector<std::uint64_t>{0, 1, 2, 3, 6, 7}));
  for (const ChunkEntry& entry : journal.entries(5))
    EXPECT_EQ(entry.length, 10 + entry.chunk);
  EXPECT_EQ(ChunkJournal(folders[1], world_, 2).done(5), (std::vector<std::uint64_t>{3, 6, 7}));
}

TEST_F(JournalCopyTest, AChunkThatDiffersIsRefused) {
  EXPECT_EQ(refusal({make("a", 5, {0, 1, 2}), make("b", 5, {2, 3}, 9)}),
            "chunk 2 is not the same in both runs");
}

TEST_F(JournalCopyTest, RunsOfOtherDataAreRefused) {
  EXPECT_EQ(refusal({make("a", 5, {0, 1}), make("b", 6, {2, 3})}),
            "these runs are of other data, or of another model");
}

}  // namespace
}  // namespace mgpu::store
