#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/read_texts.hpp>
#include <mgpu/store/results/seal.hpp>

#include "sample_run.hpp"

namespace mgpu::store {
namespace {

using test::kChunkRows;
using test::kPhase;

class SealTest : public testing::Test {
protected:
  const cluster::Group world_ = cluster::Group::world();
  const test::SharedFolder folder_{world_};

  SealResult run(const cluster::Group& group, const fs::path& run_directory, std::int64_t rows,
                 int gzip) {
    const TableSpec spec = test::sample_spec(rows);
    ChunkJournal journal(run_directory, group, 1);
    test::run_phase(journal, group, spec);
    journal.commit();
    return seal(group, journal, test::sample_request(run_directory / "results.h5", spec, gzip));
  }
};

/// Compares the lists in the file with the expected lists of rows `ids`.
void expect_lists(const fs::path& path, std::span<const std::int64_t> ids) {
  const ReadLists tokens = read_lists(path, "samples", "tokens");
  const ReadLists places = read_lists(path, "samples", "places");
  const ReadLists top = read_lists(path, "samples", "top");
  ASSERT_EQ(tokens.rows(), std::ssize(ids));
  ASSERT_EQ(places.rows(), std::ssize(ids));
  EXPECT_EQ(top.values.spec.width, 2);
  const auto equal = [](const auto& row, const auto& expected) {
    return std::equal(row.begin(), row.end(), expected.begin(), expected.end());
  };
  for (std::int64_t row = 0; row < std::ssize(ids); ++row) {
    const std::int64_t id = ids[static_cast<std::size_t>(row)];
    const std::size_t length = test::list_length(id);
    const std::size_t has_places = id / kChunkRows % 3 == 2 ? length : 0;
    EXPECT_TRUE(equal(tokens.row<std::int32_t>(row), test::sample_list<std::int32_t>(id, length)));
    EXPECT_TRUE(
        equal(places.row<std::int64_t>(row), test::sample_list<std::int64_t>(id, has_places)));
    EXPECT_TRUE(equal(top.row<float>(row), test::sample_list<float>(id, 2 * length)));
  }
}

TEST_F(SealTest, BytesDoNotDependOnTheNumberOfRanks) {
  for (const int gzip : {0, 4}) {
    for (const std::int64_t rows : {0, 1, 23, 5000}) {
      // Sealing on rank 0 alone and on all ranks gives the same file.
      const std::string name = std::to_string(rows) + "_" + std::to_string(gzip);
      const fs::path alone = folder_.path() / ("alone_" + name);
      const fs::path all = folder_.path() / ("all_" + name);
      const cluster::Group single = world_.split(world_.rank(), 0);
      if (world_.rank() == 0) run(single, alone, rows, gzip);

      const SealResult report = run(world_, all, rows, gzip);

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

  const SealResult report = seal(world_, journal, request);

  EXPECT_EQ(report.rows, 13);
  EXPECT_EQ(report.missing_rows, 32);
  const ReadTable table = read_table(world_, request.path, "samples");
  EXPECT_EQ(table.missing_rows, 32);
  const auto ids = table.column("id").values<std::int64_t>();
  const auto small = table.column("small").values<std::uint16_t>();
  ASSERT_EQ(ids.size(), 13U);
  expect_lists(request.path, ids);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(ids[i], i < kChunkRows ? 16 + static_cast<int>(i) : 32 + static_cast<int>(i));
    EXPECT_EQ(small[i], ids[i]);
  }
}

TEST_F(SealTest, ListsComeBackWhateverTheirLengths) {
  for (const std::int64_t rows :
       {0, 1, 16, 23, 1000}) {  // with 16 rows all lists `places` are empty
    const fs::path run_directory = folder_.path() / std::to_string(rows);
    EXPECT_EQ(run(world_, run_directory, rows, 4).other_writes, 0);
    std::vector<std::int64_t> ids(static_cast<std::size_t>(rows));
    std::iota(ids.begin(), ids.end(), 0);
    expect_lists(run_directory / "results.h5", ids);
  }
}

TEST_F(SealTest, TablesMayHaveListsOfOneName) {
  const TableSpec spec = test::sample_spec(8);
  TableSpec other = spec;
  other.path = "others";
  ChunkJournal journal(folder_.path(), world_, 1);
  test::run_phase(journal, world_, spec);
  journal.commit();
  SealRequest request = test::sample_request(folder_.path() / "results.h5", spec, 0);
  request.tables.push_back({other, kPhase, kChunkRows});

  seal(world_, journal, request);

  if (world_.rank() == 0) {
    EXPECT_EQ(read_lists(request.path, "others", "tokens").rows(), 8);
    EXPECT_EQ(read_texts(request.path, "others", "output", 3, 1),
              read_texts(request.path, "samples", "output", 3, 1));
  }
  world_.barrier();
  request.tables.back() = request.tables.front();
  EXPECT_THROW(seal(world_, journal, request), Error);  // two tables of one name
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

// The table has more texts than are written at once.
TEST_F(SealTest, ManyTextsOfNoLength) {
  constexpr std::int64_t kTexts = 600'000;
  const TableSpec spec{
      "samples", kTexts, {{"reason", ColumnType::text, 1, "why it failed", ""}}, "", ""};
  ChunkJournal journal(folder_.path(), world_, 1);
  if (world_.rank() == 0) {
    std::vector<std::string> reasons(kTexts);
    reasons[300'000] = "it is too long";
    ChunkEncoder encoder(spec, 0, kTexts);
    encoder.text("reason", reasons);
    journal.append(kPhase, 0, encoder.finish());
  }
  journal.commit();
  SealRequest request = test::sample_request(folder_.path() / "results.h5", spec, 0);
  request.tables[0].chunk_rows = kTexts;
  seal(world_, journal, request);

  if (world_.rank() == 0) {
    EXPECT_EQ(read_texts(request.path, "samples", "reason", 299'999, 3),
              (std::vector<std::string>{"", "it is too long", ""}));
    EXPECT_EQ(read_texts(request.path, "samples", "reason", kTexts - 1, 1).front(), "");
  }
  world_.barrier();
}

// The first three lines of the script show how a user makes a data frame of a table.
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
    encoder.column<std::uint8_t>("status", std::vector<std::uint8_t>(100, 1));
    encoder.text("output", output);
    test::add_lists(encoder, 0, 100);
    journal.append(kPhase, 0, encoder.finish());
  }
  journal.commit();
  SealRequest request = test::sample_request(folder_.path() / "results.h5", spec, 4);
  request.tables[0].chunk_rows = 100;
  seal(world_, journal, request);

  if (world_.rank() == 0) {
    const fs::path script = folder_.path() / "read.py";
    std::ofstream(script) << R"(import h5py, numpy as np, pandas as pd, sys
f = h5py.File(sys.argv[1])
df = pd.DataFrame({k: d[:] for k, d in f["samples"].items()})
lists = {k: np.split(a["values"][:], a["row_offsets"][1:-1]) for k, a in f["arrays/samples"].items()}
df["output"] = [bytes(text).decode() for text in lists["output"]]
tokens, a = lists["tokens"], f["arrays/samples/tokens"]
assert sum(map(len, tokens)) == len(a["values"]) and tokens[99][0] == 99 * 31
assert f["arrays/samples/top/values"].shape[1] == 2 and a.attrs["table"] == "samples"
assert f["arrays/samples/output"].attrs["is_text"] == 1 and f.attrs["format_version"] == 2
assert h5py.check_enum_dtype(f["samples/status"].dtype)["odd"] == 1 and set(df.pop("status")) == {1}
assert list(f["metrics/train/note"].asstr()) == ["a", "", "c"]
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
