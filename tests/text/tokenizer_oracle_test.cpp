// Every kind of tokenizer against the tokenizers library: tests/oracle/tokenizer_goldens.py.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include <mgpu/base/file_io.hpp>
#include <mgpu/text/tokenizer.hpp>

#include "hard_texts.hpp"

namespace mgpu::text {
namespace {

const std::filesystem::path kGoldens = MGPU_GOLDENS;

std::vector<std::string> kinds() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kGoldens)) {
    if (entry.path().extension() == ".hashes") names.push_back(entry.path().stem());
  }
  return names;
}

const std::vector<std::string>& texts() {
  static const auto kTexts = make_hard_texts(kGoldens / "hard_texts.json");
  return kTexts;
}

/// As hexadecimal digits, 16 a text.
std::vector<std::string> expected_hashes(const std::string& kind) {
  std::ifstream file(kGoldens / (kind + ".hashes"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::vector<std::string> hashes(bytes.size() / 8);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    constexpr const char* kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(bytes[i]);
    hashes[i / 8] += {kDigits[byte >> 4], kDigits[byte & 0xF]};
  }
  return hashes;
}

void append_size(std::string& message, std::size_t size) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    message += static_cast<char>(size >> shift & 0xFF);
}

void append(std::string& message, const std::vector<TokenId>& ids) {
  append_size(message, ids.size());
  for (const TokenId id : ids)
    append_size(message, static_cast<std::size_t>(id));
}

void append(std::string& message, const std::string& text) {
  append_size(message, text.size());
  message += text;
}

std::string hash_of(const Tokenizer& tokenizer, std::size_t number) {
  const auto framed = tokenizer.encode(texts()[number], true);
  std::string message;
  append(message, tokenizer.encode(texts()[number], false));
  append(message, framed);
  append(message, tokenizer.decode(framed, true));
  append(message, tokenizer.decode(framed, false));
  append(message, tokenizer.decode(make_hard_ids(number, tokenizer.vocab_size()), false));
  return sha256_hex(message).substr(0, 16);
}

class TokenizerOracleTest : public testing::TestWithParam<std::string> {};

TEST_P(TokenizerOracleTest, AgreesOnEveryHardText) {
  const Tokenizer tokenizer = Tokenizer::open(kGoldens / (GetParam() + ".json"));
  const std::vector<std::string> expected = expected_hashes(GetParam());
  ASSERT_EQ(expected.size(), texts().size());

  std::vector<std::size_t> different;
  for (std::size_t i = 0; i < texts().size(); ++i)
    if (hash_of(tokenizer, i) != expected[i]) different.push_back(i);

  EXPECT_TRUE(different.empty()) << different.size() << " texts differ, the first is number "
                                 << different[0] << ": " << texts()[different[0]];
}

INSTANTIATE_TEST_SUITE_P(Kinds, TokenizerOracleTest, testing::ValuesIn(kinds()),
                         [](const auto& kind) { return kind.param; });

TEST(TokenizerOracleTest, ThereAreGoldensOfAllKinds) {
  EXPECT_EQ(kinds().size(), 22U);
}

}  // namespace
}  // namespace mgpu::text
