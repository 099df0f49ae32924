#include <fstream>
#include <random>
#include <string>
#include <vector>

#include <hdf5.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/results/file_inspection.hpp>
#include <mgpu/store/results/list_column.hpp>
#include <mgpu/store/results/read_table.hpp>
#include <mgpu/store/results/read_texts.hpp>

#include "sample_run.hpp"
#include "support/mutants.hpp"

namespace mgpu::store {
namespace {

constexpr std::int64_t kRows = 2000;

class ReadTableTest : public testing::Test {
protected:
  const cluster::Group world_ = cluster::Group::world();
  const test::SharedFolder folder_{world_};
  const fs::path path_ = folder_.path() / "results.h5";

  void write(int gzip) {
    const TableSpec spec = test::sample_spec(kRows);
    ChunkJournal journal(folder_.path(), world_, 1);
    test::run_phase(journal, world_, spec);
    journal.commit();
    seal(world_, journal, test::sample_request(path_, spec, gzip));
  }

  /// Returns the report of a read that has to fail. Ranks: collective.
  ErrorReport failure_of(const fs::path& path, const std::string& table) {
    try {
      read_table(world_, path, table);
    } catch (const Failure& failure) {
      return failure.report();
    }
    ADD_FAILURE() << "was read";
    return {};
  }

  /// Runs `make` on rank 0, and then waits for all ranks.
  template <class Make>
  void on_rank_0(Make make) {
    if (world_.rank() == 0) make();
    world_.barrier();
  }
};

TEST_F(ReadTableTest, GivesEveryRankTheNumbers) {
  for (const int gzip : {0, 4}) {
    world_.barrier();
    on_rank_0([&] { fs::remove_all(folder_.path() / "parts"); });
    write(gzip);

    const ReadTable table = read_table(world_, path_, "samples");

    EXPECT_EQ(table.missing_rows, 0);
    EXPECT_EQ(table.rows, kRows);
    ASSERT_EQ(table.columns.size(), 6U);  // ids and five columns of numbers
    EXPECT_EQ(table.column("id").values<std::int64_t>()[1999], 1999);
    EXPECT_EQ(table.column("small").values<std::uint16_t>()[1500], 1500);
    EXPECT_EQ(table.column("hidden").spec.width, 6);
    EXPECT_EQ(table.column("hidden").values<double>()[6 * 77 + 4], 77.5);
    EXPECT_THROW(table.column("hidden").values<float>(), Error);
    EXPECT_THROW(table.column("output"), Failure);
  }
}

TEST_F(ReadTableTest, MissingThingsHaveNames) {
  write(0);

  EXPECT_EQ(failure_of(folder_.path() / "nothing.h5", "samples").exit, ExitCode::no_input);
  EXPECT_EQ(failure_of(folder_.path(), "samples").exit, ExitCode::no_input);
  EXPECT_EQ(failure_of(path_, "nothing").exit, ExitCode::data);
  EXPECT_EQ(failure_of(path_, "samples/id").exit, ExitCode::data);
}

TEST_F(ReadTableTest, OtherFilesAreRefused) {
  write(0);
  const fs::path path = folder_.path() / "text.h5";
  on_rank_0([&] { std::ofstream(path) << "not HDF5"; });

  const ErrorReport report = failure_of(path, "samples");

  EXPECT_TRUE(looks_like_hdf5(path_));
  EXPECT_FALSE(looks_like_hdf5(path));
  EXPECT_EQ(report.exit, ExitCode::data);
  EXPECT_NE(report.lines.front().find("text.h5"), std::string::npos);
}

/// Makes a file with one group "t", in which `fill` makes data sets.
template <class Fill>
void make_file(const fs::path& path, Fill fill) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t group = H5Gcreate2(file, "t", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  fill(group);
  H5Gclose(group);
  H5Fclose(file);
}

void make_dataset(hid_t group, const char* name, hid_t type, std::vector<hsize_t> sizes,
                  hid_t creation = H5P_DEFAULT) {
  const hid_t space = H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr);
  H5Dclose(H5Dcreate2(group, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Sclose(space);
}

TEST_F(ReadTableTest, TablesOfTheWrongShapeAreRefused) {
  const fs::path path = folder_.path() / "shape.h5";
  const std::vector<void (*)(hid_t)> kinds = {
      [](hid_t g) {
        make_dataset(g, "a", H5T_STD_I32LE, {3});
        make_dataset(g, "b", H5T_STD_I32LE, {4});
      },
      [](hid_t g) {
        make_dataset(g, "a", H5T_STD_I32LE, {3, 1, 1});
      },
      [](hid_t g) { make_dataset(g, "a", H5T_STD_I16LE, {3}); },
      [](hid_t g) { make_dataset(g, "a", H5T_STD_REF_OBJ, {3}); },
      [](hid_t g) {  // 8 TiB, of which no chunk is stored
        const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        const hsize_t chunk = 1024;
        H5Pset_chunk(creation, 1, &chunk);
        make_dataset(g, "a", H5T_STD_I64LE, {hsize_t{1} << 40}, creation);
        H5Pclose(creation);
      },
      [](hid_t g) {  // the data are in another file
        const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_external(creation, "/etc/hostname", 0, 8);
        make_dataset(g, "a", H5T_STD_I64LE, {1}, creation);
        H5Pclose(creation);
      },
      [](hid_t g) { H5Lcreate_external("/tmp/other.h5", "/x", g, "a", H5P_DEFAULT, H5P_DEFAULT); },
      [](hid_t g) { H5Lcreate_soft("/t/b", g, "a", H5P_DEFAULT, H5P_DEFAULT); }};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    on_rank_0([&] { make_file(path, kinds[i]); });
    EXPECT_EQ(failure_of(path, "t").exit, ExitCode::data) << i;
    world_.barrier();
  }
}

TEST_F(ReadTableTest, DamagedRowsAreNoticed) {
  write(0);
  on_rank_0([&] {
    std::string bytes = read_file(path_);
    const std::int64_t row = 1234;
    const std::string needle(reinterpret_cast<const char*>(&row), sizeof row);
    bytes[bytes.find(needle)] ^= 1;
    std::ofstream(path_, std::ios::binary) << bytes;
  });

  EXPECT_EQ(failure_of(path_, "samples").exit, ExitCode::corrupt);
}

TEST_F(ReadTableTest, ListsWhoseOffsetsLieAreRefused) {
  const fs::path path = folder_.path() / "lists.h5";
  const std::vector<std::vector<std::int64_t>> offsets = {
      {0, 2, 3}, {}, {1, 2, 3}, {0, 2, 4}, {0, 2}, {0, 3, 2, 3}, {-1, 3}};
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    on_rank_0([&] {
      make_file(path, [&](hid_t group) {
        const hid_t arrays = H5Gcreate2(group, "/arrays", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        const hid_t lists = H5Gcreate2(arrays, "x", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        make_dataset(lists, "values", H5T_STD_I32LE, {3});
        make_dataset(lists, "row_offsets", H5T_STD_I64LE, {offsets[i].size()});
        const hid_t dataset = H5Dopen2(lists, "row_offsets", H5P_DEFAULT);
        H5Dwrite(dataset, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, offsets[i].data());
        H5Dclose(dataset);
        H5Gclose(lists);
        H5Gclose(arrays);
      });
    });
    if (i == 0) {
      EXPECT_EQ(read_lists(path, "samples", "x").row<std::int32_t>(0).size(), 2U);
    } else {
      EXPECT_THROW(read_lists(path, "samples", "x"), Failure) << i;
      EXPECT_THROW(ListColumn(path, "samples", "x"), Failure) << i;
    }
    world_.barrier();
  }
}

/// Returns all that this program reads of a table: numbers, lists, texts, names and attributes.
std::string content_of(const fs::path& path) {
  std::string content;
  const auto add = [&](const ReadColumn& column) {
    content += column.spec.name + ' ' + std::string(name_of(column.spec.type)) + '\n';
    for (const std::string& name : column.spec.names)
      content += name + ' ';
    content.append(reinterpret_cast<const char*>(column.bytes.data()), column.bytes.size());
  };
  const ReadTable table = read_table(path, "samples");
  content += std::to_string(table.rows) + ' ' + std::to_string(table.missing_rows) + '\n';
  for (const ReadColumn& column : table.columns)
    add(column);
  for (const std::string& name : list_columns(path, "samples")) {
    const ReadLists lists = read_lists(path, "samples", name);
    content += name;
    add(lists.offsets);
    add(lists.values);
  }
  for (const std::string& name : text_columns(path, "samples"))
    for (const std::string& text : read_texts(path, "samples", name, 0, table.rows))
      content += name + '=' + text + '\n';
  for (const auto& [name, value] : read_numbers(path, "/"))
    content += name + '=' + std::to_string(value) + '\n';
  return content;
}

/// Damages `original` in many ways. Expects that every mutant is refused, or has the content of the
/// original. Another process reads each mutant first, as in the program.
void expect_right_or_refused(const fs::path& original, const fs::path& mutant, int mutants) {
  set_inspector({MGPU_INSPECTOR});
  const std::string expected = content_of(original);
  const std::string bytes = read_file(original);
  std::mt19937 random(7);
  int refused = 0;
  for (int round = 0; round < mutants; ++round) {
    std::string changed = bytes;
    const std::size_t end = round % 2 == 0 ? changed.size() : 8192;  // half of them in metadata
    for (unsigned i = 0; i < 1 + random() % 4; ++i)
      changed[random() % end] = static_cast<char>(random());
    std::ofstream(mutant, std::ios::binary) << changed;
    try {
      EXPECT_TRUE(content_of(mutant) == expected) << mutant << ", round " << round;
    } catch (const Failure& failure) {
      EXPECT_TRUE(failure.report().exit == ExitCode::data ||
                  failure.report().exit == ExitCode::corrupt)
          << failure.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, mutants / 10);
}

TEST_F(ReadTableTest, MutantsAreReadRightOrRefused) {
  if (world_.size() > 1) GTEST_SKIP() << "one rank is enough";
  write(4);
  expect_right_or_refused(path_, folder_.path() / "mutant.h5", testing_support::mutants(100));
}

// In version 1 of the format texts lie in HDF5's heap, which has no checksums.
TEST_F(ReadTableTest, MutantsOfVersion1AreReadRightOrRefused) {
  if (world_.rank() != 0) return;
  expect_right_or_refused(
      fs::path(MGPU_SOURCE_DIR) / "tests/end_to_end/format_1/generate_0/results.h5",
      folder_.path() / "mutant.h5", testing_support::mutants(100));
}

}  // namespace
}  // namespace mgpu::store
