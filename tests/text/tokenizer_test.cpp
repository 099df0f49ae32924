#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/text/tokenizer.hpp>

namespace mgpu::text {
namespace {

using Ids = std::vector<TokenId>;
using testing::HasSubstr;

/// Returns a tokenizer.json with the characters a, b, c, d and space, and the merges cd, ab and
/// abcd. `members` are more members of the file, such as a decoder. `options` are members of its
/// model.
std::string tokenizer_json(const std::string& members = "", const std::string& options = "") {
  return R"({"model": {"type": "BPE", )" + options +
         R"("vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "ab": 4, "cd": 5, "abcd": 6, " ": 7},
            "merges": ["c d", ["a", "b"], "ab cd"]})" +
         (members.empty() ? "" : ", " + members) + "}";
}

Tokenizer tokenizer(const std::string& members = "", const std::string& options = "") {
  return Tokenizer::parse(tokenizer_json(members, options));
}

ErrorReport refusal(const std::string& json) {
  try {
    Tokenizer::parse(json);
  } catch (const Failure& failure) {
    return failure.report();
  }
  return {};
}

TEST(TokenizerTest, MergesByRankAndThenFromTheLeft) {
  EXPECT_EQ(tokenizer().encode("abcd", false), Ids({6}));
  EXPECT_EQ(tokenizer().encode("abcab", false), Ids({4, 2, 4}));
  EXPECT_EQ(tokenizer().encode("bcda", false), Ids({1, 5, 0}));
}

TEST(TokenizerTest, LongPiecesMergeLikeShortOnes) {
  std::string text;
  Ids expected;
  for (int i = 0; i < 1000; ++i) {
    text += "abcdb";
    expected.insert(expected.end(), {6, 1});
  }

  EXPECT_EQ(tokenizer().encode(text, false), expected);
}

TEST(TokenizerTest, UnknownCharactersVanishWithoutAnUnknownToken) {
  EXPECT_EQ(tokenizer().encode("aéb", false), Ids({4}));
}

TEST(TokenizerTest, AnUnknownTokenOutsideTheVocabularyFailsWhenItIsNeeded) {
  const Tokenizer strict = tokenizer("", R"("unk_token": "<unk>", )");

  EXPECT_EQ(strict.encode("ab", false), Ids({4}));
  EXPECT_THROW(strict.encode("aé", false), Failure);
}

TEST(TokenizerTest, AddedTokensStandAside) {
  const Tokenizer added = tokenizer(R"("added_tokens": [{"id": 8, "content": "bc", "special": true,
      "single_word": false, "lstrip": true, "rstrip": false, "normalized": false}])");

  EXPECT_EQ(added.encode("a  bcd", false), Ids({0, 8, 3}));
  EXPECT_EQ(added.token_id("bc"), 8);
  EXPECT_EQ(added.token_text(8), "bc");
  EXPECT_EQ(added.vocab_size(), 9U);
  EXPECT_EQ(added.decode(Ids({0, 8, 3}), true), "a d");
  EXPECT_EQ(added.decode(Ids({0, 8, 3}), false), "a bc d");
}

TEST(TokenizerTest, IdsWithoutATokenAddNothing) {
  EXPECT_EQ(tokenizer().decode(Ids({0, -1, 99, 1 << 30, 1}), false), "a b");
  EXPECT_EQ(tokenizer().token_text(-1), "");
  EXPECT_EQ(tokenizer().token_id("zz"), -1);
}

TEST(TokenizerTest, ATextThatIsNotUtf8IsRefusedWithThePlace) {
  try {
    tokenizer().encode("ab\xFF", false);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E543");
    EXPECT_THAT(failure.report().sentence, HasSubstr("at byte 2"));
  }
}

TEST(TokenizerTest, ThreadsShareOneTokenizer) {
  const Tokenizer shared = tokenizer();
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += "abcd dcba ";
  const Ids expected = shared.encode(text, false);
  std::vector<int> different(4);

  std::vector<std::thread> threads;
  for (int& count : different) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        count += shared.encode(text, false) == expected ? 0 : 1;
    });
  }
  for (std::thread& thread : threads)
    thread.join();

  EXPECT_EQ(different, std::vector<int>(4));
}

TEST(TokenizerTest, WhatIsNotKnownIsRefusedByNameAndPlace) {
  const auto expect = [](const std::string& json, const std::string& name,
                         const std::string& place) {
    const ErrorReport report = refusal(json);
    EXPECT_EQ(report.code, "E542") << json;
    EXPECT_THAT(report.sentence, HasSubstr(name));
    EXPECT_THAT(report.lines.at(0), HasSubstr("tokenizer.json: " + place));
  };
  expect(R"({"model": {"type": "Unigram", "vocab": []}})", "Unigram", "model.type");
  expect(tokenizer_json(R"("normalizer": {"type": "Sequence", "normalizers":
      [{"type": "NFC"}, {"type": "Precompiled"}]})"),
         "Precompiled", "normalizer.normalizers[1].type");
  expect(tokenizer_json(R"("pre_tokenizer": {"type": "BertPreTokenizer"})"), "BertPreTokenizer",
         "pre_tokenizer.type");
  expect(tokenizer_json(R"("decoder": {"type": "CTC"})"), "CTC", "decoder.type");
  expect(tokenizer_json(R"("post_processor": {"type": "RobertaProcessing"})"), "RobertaProcessing",
         "post_processor.type");
  expect(tokenizer_json("", R"("dropout": 0.1, )"), "dropout", "model.dropout");
  expect(tokenizer_json("", R"("end_of_word_suffix": "</w>", )"), "end_of_word_suffix",
         "model.end_of_word_suffix");
  expect(tokenizer_json(R"("pre_tokenizer": {"type": "Split", "invert": false,
      "behavior": "Isolated", "pattern": {"Regex": "[a-z&&[^b]]"}})"),
         "&&", "pre_tokenizer.pattern.Regex");
}

TEST(TokenizerTest, WhatIsMalformedIsRefusedWithThePlace) {
  const auto expect = [](const std::string& json, const std::string& what) {
    const ErrorReport report = refusal(json);
    EXPECT_EQ(report.code, "E541") << json;
    EXPECT_THAT(render(report), HasSubstr(what));
  };
  expect("", "malformed tokenizer file");
  expect("{", "malformed tokenizer file");
  expect("[]", "an object is needed");
  expect("{}", "`model` is missing");
  expect(R"({"model": {"vocab": {"a": -1}, "merges": []}})", "the id of `a`");
  expect(R"({"model": {"vocab": {"a": 1e9}, "merges": []}})", "the id of `a`");
  expect(R"({"model": {"vocab": {"a": 0, "b": 0}, "merges": []}})", "id 0 comes twice");
  expect(R"({"model": {"vocab": {"a": 0, "a": 1}, "merges": []}})", "`a` comes twice");
  expect(R"({"model": {"vocab": {"a": 0, "b": 1}, "merges": ["a b"]}})", "`ab` is not");
  expect(R"({"model": {"vocab": {"a": 0, "aa": 1}, "merges": ["a a", "a"]}})", "merges[1]");
  expect(tokenizer_json(R"("decoder": {"type": 3})"), "decoder.type");
}

TEST(TokenizerTest, TokensThatAreNoCharacterAreShownAsBytes) {
  const Tokenizer bytes = Tokenizer::parse(
      R"({"model": {"vocab": {"Ã": 0, "©": 1, "x": 2, "Ġx": 3, "ÃĠ": 4, "Ã©": 5}, "merges": []},
          "decoder": {"type": "ByteLevel"}})");

  EXPECT_EQ(bytes.shown_token(0), "<C3>");
  EXPECT_EQ(bytes.shown_token(1), "<A9>");
  EXPECT_EQ(bytes.shown_token(2), "x");
  EXPECT_EQ(bytes.shown_token(3), " x");
  EXPECT_EQ(bytes.shown_token(4), "<C3 20>");
  EXPECT_EQ(bytes.shown_token(5), "é");
  EXPECT_EQ(bytes.shown_token(99), "#99");
  EXPECT_EQ(bytes.shown_token(-1), "#-1");
}

TEST(TokenizerTest, BytesOfAFallbackAreShownByTheirName) {
  const Tokenizer fallback = Tokenizer::parse(
      R"({"model": {"vocab": {"<0xC3>": 0, "<0xA9>": 1, "x": 2}, "merges": []},
          "decoder": {"type": "ByteFallback"}})");

  EXPECT_EQ(fallback.shown_token(0), "<0xC3>");
  EXPECT_EQ(fallback.shown_token(2), "x");
}

TEST(StreamDecoderTest, NeverSplitsACharacter) {
  const Tokenizer bytes = Tokenizer::parse(
      R"({"model": {"vocab": {"Ã": 0, "©": 1, "x": 2}, "merges": []},
          "decoder": {"type": "ByteLevel"}})");
  StreamDecoder stream(bytes, false);

  EXPECT_EQ(stream.add(0), "");
  EXPECT_EQ(stream.add(1), "é");
  EXPECT_EQ(stream.add(0), "");
  EXPECT_EQ(stream.add(2), "\uFFFDx");
  EXPECT_EQ(stream.add(0), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
}

TEST(StreamDecoderTest, SpacesAtBothEndsWaitForWhatFollows) {
  const Tokenizer strip =
      tokenizer(R"("decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 1}]})");
  StreamDecoder stream(strip, false);

  EXPECT_EQ(stream.add(7), "");
  EXPECT_EQ(stream.add(7), "");
  EXPECT_EQ(stream.add(0), " a");
  EXPECT_EQ(stream.add(7), "");
  EXPECT_EQ(stream.add(7), " ");
  EXPECT_EQ(stream.finish(), "");
}

}  // namespace
}  // namespace mgpu::text
