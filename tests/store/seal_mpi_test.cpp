#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/seal.hpp>

#include "sample_run.hpp"

namespace mgpu::store {
namespace {

using test::kChunkRows;
using test::kPhase;

class SealTest : public testing::Test {
protected:
  const cluster::Group world_ = cluster::Group::world();
  const test::SharedFolder folder_{world_};

  SealReport run(const cluster::Group& group, const fs::path& run_directory, std::int64_t rows,
                 int gzip) {
    const TableSpec spec = test::sample_spec(rows);
    ChunkJournal journal(run_directory, group, 1);
    test::run_phase(journal, group, spec);
    journal.commit();
    return seal(group, journal, test::sample_request(run_directory / "results.h5", spec, gzip));
  }
};

TEST_F(SealTest, BytesDoNotDependOnTheNumberOfRanks) {
  for (const int gzip : {0, 4}) {
    for (const std::int64_t rows : {0, 1, 23, 5000}) {
      // Rank 0 alone, then all ranks: the same file.
      const std::string name = std::to_string(rows) + "_" + std::to_string(gzip);
      const fs::path alone = folder_.path() / ("alone_" + name);
      const fs::path all = folder_.path() / ("all_" + name);
      const cluster::Group single = world_.split(world_.rank(), 0);
      if (world_.rank() == 0) run(single, alone, rows, gzip);

      const SealReport report = run(world_, all, rows, gzip);

      EXPECT_EQ(report.rows, rows);
      EXPECT_EQ(report.other_writes, 0);
      EXPECT_EQ(report.collective_writes > 0, rows > 0);
      if (world_.rank() == 0) {
        EXPECT_EQ(sha256_hex_of_file(alone / "results.h5"), sha256_hex_of_file(all / "results.h5"))
            << name;
      }
    }
  }
}

}  // namespace
}  // namespace mgpu::store
