// Compares every kind of tokenizer with the tokenizers library: tests/oracle/tokenizer_goldens.py.
#include <gtest/gtest.h>

#include "golden_hashes.hpp"

namespace mgpu::text {
namespace {

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kGoldens)) {
    if (entry.path().extension() == ".hashes") names.push_back(entry.path().stem());
  }
  return names;
}

class TokenizerOracleTest : public testing::TestWithParam<std::string> {};

TEST_P(TokenizerOracleTest, AgreesOnEveryHardText) {
  const Tokenizer tokenizer = Tokenizer::open(kGoldens / (GetParam() + ".json"));
  const auto expected = read_hashes(kGoldens / (GetParam() + ".hashes"));

  const std::vector<std::size_t> different = different_texts(tokenizer, expected);

  EXPECT_EQ(expected.size(), texts().size());
  EXPECT_TRUE(different.empty()) << different.size() << " texts differ, the first is number "
                                 << different[0] << ": " << texts()[different[0]];
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerOracleTest, testing::ValuesIn(kinds()),
                         [](const auto& kind) { return kind.param; });

TEST(TokenizerOracleTest, ThereAreGoldensOfAllKinds) {
  EXPECT_EQ(kinds().size(), 25U);
}

}  // namespace
}  // namespace mgpu::text
