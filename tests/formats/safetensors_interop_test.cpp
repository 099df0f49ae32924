// Tests that Python's safetensors opens our file, and writes the same bytes from its contents.
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/formats/safetensors.hpp>

#include "support/temporary_folder.hpp"

namespace mgpu::formats {
namespace {

TEST(SafetensorsInteropTest, PythonReadsOursAndWritesTheSameBytes) {
  if (!fs::exists(MGPU_PYTHON)) GTEST_SKIP() << "no Python at " << MGPU_PYTHON;
  const testing_support::TemporaryFolder folder;
  std::vector<std::vector<std::uint8_t>> data;
  std::vector<NamedTensor> tensors;
  for (int i = 0; i <= static_cast<int>(DType::u64); ++i) {
    const auto dtype = static_cast<DType>(i);
    const std::string name = std::string("blocks.") + std::to_string(i) + ".\xc3\xa9\"w";
    std::vector<std::uint8_t>& bytes = data.emplace_back(6 * size_of(dtype));
    // In the script, the name is shorter by 1, because Python counts "é" as one character.
    for (std::size_t b = 0; b < bytes.size(); ++b)
      bytes[b] = static_cast<std::uint8_t>((7 * b + name.size() - 1) % 251);
    tensors.push_back({name, {2, 3}, {bytes.data(), 6, dtype, {}}});
  }
  tensors.push_back({"none", {0, 4}, {nullptr, 0, DType::f32, {}}});
  const fs::path ours = folder.path() / "ours.safetensors";
  const fs::path theirs = folder.path() / "theirs.safetensors";
  write_safetensors(ours, tensors, {{"format", "pt"}});

  const std::string command = std::string(MGPU_PYTHON) + " " + MGPU_INTEROP_SCRIPT + " " +
                              ours.string() + " " + theirs.string();
  ASSERT_EQ(std::system(command.c_str()), 0) << command;

  EXPECT_EQ(SafetensorsFile(theirs).tensors().size(), tensors.size());
  EXPECT_EQ(SafetensorsFile(theirs).find("none")->shape, (std::vector<std::int64_t>{0, 4}));
  EXPECT_EQ(read_file(ours), read_file(theirs));
}

}  // namespace
}  // namespace mgpu::formats
