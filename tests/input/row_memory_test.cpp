// Tests that a file of a million rows needs little memory.
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <mgpu/base/process_memory.hpp>
#include <mgpu/input/row_file.hpp>

#include "support/sanitizers.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::input {
namespace {

constexpr std::int64_t kRows = 1'000'000;

TEST(RowMemoryTest, AMillionRowsNeedLittleMemory) {
  if (testing_support::kKeepsFreedMemory) GTEST_SKIP() << "AddressSanitizer keeps freed memory";
  const testing_support::TemporaryFolder folder;
  RowOptions options;
  options.path = folder.path() / "many.jsonl";
  std::ofstream file(options.path);
  for (std::int64_t i = 0; i < kRows; ++i)
    file << "{\"key\": " << i << ", \"text\": \"a short text\"}\n";
  file.close();
  options.columns = {{"id", "key"}};
  options.one_of = {"text"};
  const std::uint64_t before = host_peak_bytes();

  const RowFile rows = open_rows(options);
  std::int64_t sum = 0;
  for (std::int64_t first = 0; first < kRows; first += 1000)
    for (const Row& row : rows.read(first, 1000))
      sum += *row.object.find("id")->integer();

  EXPECT_EQ(sum, kRows * (kRows - 1) / 2);
  const std::uint64_t grown_kib = (host_peak_bytes() - before) / 1024;
  EXPECT_LT(grown_kib, 64U * 1024U);
  RecordProperty("grown_kib", static_cast<int>(grown_kib));
}

}  // namespace
}  // namespace mgpu::input
