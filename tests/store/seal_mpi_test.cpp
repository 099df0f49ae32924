#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/read_table.hpp>
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

TEST_F(SealTest, APartialFileHasTheRowsThatAreThere) {
  const TableSpec spec = test::sample_spec(45);  // chunks 0 to 5, the last one of five rows
  ChunkJournal journal(folder_.path(), world_, 1);
  if (world_.rank() == 0) {
    for (const std::int64_t chunk : {5, 2})
      journal.append(kPhase, static_cast<std::uint64_t>(chunk), test::sample_chunk(spec, chunk));
  }
  journal.commit();
  SealRequest request = test::sample_request(folder_.path() / "results.h5", spec, 4);
  EXPECT_THROW(seal(world_, journal, request), Error);
  EXPECT_FALSE(fs::exists(request.path));
  request.partial = true;

  const SealReport report = seal(world_, journal, request);

  EXPECT_EQ(report.rows, 13);
  EXPECT_EQ(report.missing_rows, 32);
  const ReadTable table = read_table(world_, request.path, "samples");
  EXPECT_EQ(table.missing_rows, 32);
  const auto ids = table.column("id").values<std::int64_t>();
  const auto small = table.column("small").values<std::uint16_t>();
  ASSERT_EQ(ids.size(), 13U);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(ids[i], i < kChunkRows ? 16 + static_cast<int>(i) : 32 + static_cast<int>(i));
    EXPECT_EQ(small[i], ids[i]);
  }
}

TEST_F(SealTest, AChunkThatWasDamagedSinceRecoveryIsNotPublished) {
  const TableSpec spec = test::sample_spec(40);
  ChunkJournal journal(folder_.path(), world_, 1);
  test::run_phase(journal, world_, spec);
  journal.commit();
  const ChunkEntry entry = journal.entries(kPhase)[3];
  if (world_.rank() == 0) {
    std::fstream file(journal.files()[entry.file], std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(entry.offset + entry.length - 1));
    file.put('\xFF');
  }
  world_.barrier();
  const SealRequest request = test::sample_request(folder_.path() / "results.h5", spec, 0);

  try {
    seal(world_, journal, request);
    ADD_FAILURE() << "was published";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E604");
    EXPECT_EQ(failure.exit_code(), ExitCode::corrupt);
  }
  EXPECT_FALSE(fs::exists(request.path));
}

TEST_F(SealTest, AnOlderAttemptIsStoppedBeforeTheFileGetsItsName) {
  SealRequest request;
  request.path = folder_.path() / "run.h5";
  if (world_.rank() == 0) request.small_tables = {test::metrics_table()};
  request.check_current = [] { throw Failure({"E607", ExitCode::in_use, "taken over", {}, ""}); };

  EXPECT_THROW(seal(world_, request), Failure);
  EXPECT_FALSE(fs::exists(request.path));
  request.check_current = {};
  EXPECT_EQ(seal(world_, request).rows, 0);
  EXPECT_EQ(read_table(world_, request.path, "metrics/train").column("loss").values<double>()[2],
            0.125);
}

// Three lines of h5py and pandas, as the README shows them.
TEST_F(SealTest, PandasReadsItInThreeLines) {
  const std::string python = std::string(MGPU_DEPS_DIR) + "/venv/bin/python";
  if (!fs::exists(python)) GTEST_SKIP() << "no python in " << python;
  TableSpec spec = test::sample_spec(100);
  spec.columns.erase(spec.columns.begin() + 1);  // a data frame's columns have one dimension
  ChunkJournal journal(folder_.path(), world_, 1);
  if (world_.rank() == 0) {
    std::vector<std::string> output;
    for (int i = 0; i < 100; ++i)
      output.push_back("text " + std::to_string(i));
    ChunkEncoder encoder(spec, 0, 100);
    encoder.column<float>("score", std::vector<float>(100, 0.5F));
    encoder.column<std::int32_t>("length", std::vector<std::int32_t>(100, 3));
    encoder.column<std::uint16_t>("small", std::vector<std::uint16_t>(100, 4));
    encoder.text("output", output);
    journal.append(kPhase, 0, encoder.finish());
  }
  journal.commit();
  SealRequest request = test::sample_request(folder_.path() / "results.h5", spec, 4);
  request.tables[0].chunk_rows = 100;
  seal(world_, journal, request);

  if (world_.rank() == 0) {
    const fs::path script = folder_.path() / "read.py";
    std::ofstream(script) << R"(import h5py, pandas as pd, sys
f = h5py.File(sys.argv[1])
df = pd.DataFrame({k: d.asstr()[:] if d.dtype.kind == "O" else d[:]
                   for k, d in f["samples"].items()})
assert list(df) == ["id", "score", "length", "small", "output"], list(df)
assert df.shape == (100, 5) and df.id[99] == 99 and df.output[7] == "text 7" and df.score[3] == 0.5
assert f.attrs["status"] == "complete" and f["samples"].attrs["encoding-type"] == "dataframe"
assert f["metrics/train"].attrs["signal"] == "loss" and f["samples/score"].attrs["units"] == "nats"
)";
    const std::string command =
        python + " " + script.string() + " " + request.path.string() + " 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
  world_.barrier();
}

}  // namespace
}  // namespace mgpu::store
