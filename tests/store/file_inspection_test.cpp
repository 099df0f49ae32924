#include <fstream>
#include <string>
#include <vector>

#include <hdf5.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/results/file_inspection.hpp>
#include <mgpu/store/results/list_column.hpp>
#include <mgpu/store/results/read_table.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu::store {
namespace {

class FileInspectionTest : public testing::Test {
protected:
  void SetUp() override { make_file(1); }
  void TearDown() override { set_inspector({}); }

  /// Writes a file whose root group has one number attribute.
  void make_file(int number) const {
    const hid_t file = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute =
        H5Acreate2(file, "number", H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, H5T_NATIVE_INT, &number);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Fclose(file);
  }

  /// Sets a shell script as the inspecting process, and returns the report of the failed read.
  ErrorReport failure_with(const std::string& script) const {
    set_inspector({"/bin/sh", "-c", script, "inspector"});
    try {
      read_numbers(path_, "/");
    } catch (const Failure& failure) {
      return failure.report();
    }
    ADD_FAILURE() << "was read";
    return {};
  }

  const testing_support::TemporaryFolder folder_;
  const fs::path path_ = folder_.path() / "file.h5";
};

TEST_F(FileInspectionTest, ACrashOfTheInspectorIsDamageOfTheFile) {
  const ErrorReport crash = failure_with("kill -SEGV $$");
  EXPECT_EQ(crash.code, "E604");
  EXPECT_EQ(crash.exit, ExitCode::corrupt);
  EXPECT_NE(crash.sentence.find("ended with signal 11"), std::string::npos) << crash.sentence;
  EXPECT_NE(crash.lines.front().find("file.h5"), std::string::npos);

  EXPECT_NE(failure_with("kill -XCPU $$").sentence.find("did not come to an end"),
            std::string::npos);
  EXPECT_EQ(failure_with("exit 1").exit, ExitCode::corrupt);
}

TEST_F(FileInspectionTest, TheInspectorsOwnFailureIsPassedOn) {
  const ErrorReport failure = failure_with("printf '\\0\\0E605\\nit is no table'; exit 65");
  EXPECT_EQ(failure.code, "E605");
  EXPECT_EQ(failure.exit, ExitCode::data);
  EXPECT_EQ(failure.sentence, "it is no table");

  set_inspector({"/there/is/no/program"});
  EXPECT_THROW(read_numbers(path_, "/"), Failure);
}

TEST_F(FileInspectionTest, AVersionOfAFileIsInspectedOnce) {
  const fs::path log = folder_.path() / "log";
  set_inspector({"/bin/sh", "-c", "echo \"$1\" >>" + log.string(), "inspector"});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(read_numbers(path_, "/").at("number"), 1.0);
  EXPECT_EQ(read_file(log), path_.string() + "\n");

  fs::remove(path_);
  make_file(2);
  EXPECT_EQ(read_numbers(path_, "/").at("number"), 2.0);
  EXPECT_EQ(read_file(log), path_.string() + "\n" + path_.string() + "\n");

  fs::remove(path_);
  make_file(3);
  note_own_file(path_);
  EXPECT_EQ(read_numbers(path_, "/").at("number"), 3.0);
  EXPECT_EQ(read_file(log).size(), 2 * (path_.string().size() + 1));
}

TEST_F(FileInspectionTest, WithoutACommandTheProcessInspectsByItself) {
  EXPECT_EQ(read_numbers(path_, "/").at("number"), 1.0);
  std::ofstream(path_) << "no HDF5";
  EXPECT_THROW(read_numbers(path_, "/"), Failure);
}

/// The file has one HDF5 chunk with 128 MiB of zeros, which takes little space on disk. The chunk
/// exceeds the memory limit of MGPU_INSPECTOR.
TEST_F(FileInspectionTest, MemoryIsLimited) {
  constexpr hsize_t kBytes = hsize_t{128} << 20;
  const hid_t file = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(1, &kBytes, nullptr);
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 1, &kBytes);
  H5Pset_deflate(creation, 1);
  const hid_t dataset =
      H5Dcreate2(file, "x", H5T_STD_U8LE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  std::vector<char> zeros(kBytes);
  H5Dwrite(dataset, H5T_NATIVE_UINT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data());
  H5Dclose(dataset);
  H5Pclose(creation);
  H5Sclose(space);
  H5Fclose(file);

  set_inspector({MGPU_INSPECTOR});
  try {
    read_table(path_, "/");
    ADD_FAILURE() << "was read";
  } catch (const Failure& failure) {
    const ExitCode exit = failure.report().exit;
    EXPECT_TRUE(exit == ExitCode::data || exit == ExitCode::corrupt) << failure.what();
  }
}

}  // namespace
}  // namespace mgpu::store
