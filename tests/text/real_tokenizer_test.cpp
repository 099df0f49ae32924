// Compares a published tokenizer with the tokenizers library. The file is not part of the
// repository: it may be in the folder MGPU_TEST_DATA, or in ../shared/data next to the repository.
#include <cstdlib>

#include <gtest/gtest.h>

#include "golden_hashes.hpp"

namespace mgpu::text {
namespace {

std::filesystem::path test_data() {
  const char* folder = std::getenv("MGPU_TEST_DATA");
  return folder != nullptr ? folder : MGPU_SOURCE_DIR "/../shared/data";
}

TEST(RealTokenizerTest, Gpt2AgreesOnEveryHardText) {
  const std::filesystem::path file = test_data() / "tokenizers/gpt2/tokenizer.json";
  if (!std::filesystem::exists(file)) GTEST_SKIP() << file << " is not here";
  const Tokenizer tokenizer = Tokenizer::open(file);

  const auto different = different_texts(tokenizer, read_hashes(kGoldens / "real/gpt2.hashes"));

  EXPECT_TRUE(different.empty()) << different.size() << " texts differ";
}

}  // namespace
}  // namespace mgpu::text
