#include <chrono>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/config/yaml_document.hpp>

namespace mgpu {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i)
    all += text;
  return all;
}

std::vector<std::string> codes(const YamlDocument& document) {
  std::vector<std::string> found;
  for (const Problem& problem : document.problems)
    found.push_back(problem.code);
  return found;
}

TEST(YamlDocumentTest, KnowsWhereEveryKeyAndValueStands) {
  const YamlDocument document = read_yaml("a: 1\nb:\n  c: \"x y\"  # why\n  d: [é, null]\n", "f");

  ASSERT_THAT(codes(document), IsEmpty());
  const YamlNode& b = document.root.items.at(1);
  const YamlNode& c = b.items.at(0);
  const YamlNode& d = b.items.at(1);
  EXPECT_EQ(b.key_place.line, 2);
  EXPECT_EQ(c.key_place.column, 3);
  EXPECT_EQ(c.place.column, 6);
  EXPECT_EQ(c.place.length, 5);
  EXPECT_EQ(c.place.text, "  c: \"x y\"  # why");
  EXPECT_TRUE(c.quoted);
  EXPECT_EQ(c.text, "x y");
  EXPECT_EQ(d.items.at(1).kind, YamlNode::Kind::null);
  EXPECT_EQ(d.items.at(1).place.column, 10);  // in characters, not bytes
}

TEST(YamlDocumentTest, BlocksOfTextKeepTabsAndQuotes) {
  const YamlDocument document = read_yaml("a: |\n  \"open\n  \ttab\nb: it's\n", "f");

  EXPECT_THAT(codes(document), IsEmpty());
  EXPECT_EQ(document.root.items.at(0).text, "\"open\n\ttab\n");
  EXPECT_EQ(document.root.items.at(1).text, "it's");
}

TEST(YamlDocumentTest, QuotesInsidePlainTextAndFlowAreFine) {
  const YamlDocument document =
      read_yaml("a: say \"hi\nb: {c: 'it''s', d: [\"x\\\"y\", z]}\ne: a, \"b\n", "f");

  EXPECT_THAT(codes(document), IsEmpty());
}

TEST(YamlDocumentTest, PlacesOfQuotedTextsEndAtTheirClosingQuote) {
  const YamlDocument document = read_yaml("a: ['it''s', \"\\\"x\", '', '''']\n", "f");

  ASSERT_THAT(codes(document), IsEmpty());
  std::vector<int> lengths;
  for (const YamlNode& node : document.root.items.at(0).items)
    lengths.push_back(node.place.length);
  EXPECT_THAT(lengths, ElementsAre(7, 5, 2, 4));
}

TEST(YamlDocumentTest, ABackslashContinuesATextInDoubleQuotes) {
  const YamlDocument document =
      read_yaml("a: \"x\\\n  \\ 'y\\\n   \\\"z\"  # why\nb: [\"1\\\n  2\", c]\nd: e\n", "f");

  ASSERT_THAT(codes(document), IsEmpty());
  EXPECT_EQ(document.root.items.at(0).text, "x 'y\"z");
  EXPECT_EQ(document.root.items.at(1).items.at(0).text, "12");
  EXPECT_EQ(document.root.items.at(2).place.line, 6);
}

TEST(YamlDocumentTest, AnOpenQuoteEndsBeforeALineThatIsNotIndented) {
  const YamlDocument document = read_yaml("a: \"x\\\nb: 1\nc:\n  d: \"y\\\n  e: 2\n", "f");

  ASSERT_THAT(codes(document), ElementsAre("E108", "E108"));
  EXPECT_EQ(document.problems.at(0).place.line, 1);
  EXPECT_EQ(document.problems.at(0).place.column, 4);
  EXPECT_EQ(document.root.items.at(1).text, "1");
  EXPECT_EQ(document.root.items.at(2).items.at(1).text, "2");
}

TEST(YamlDocumentTest, LimitsAreExact) {
  EXPECT_THAT(codes(read_yaml("a: " + repeated("[", 31) + repeated("]", 31), "f")), IsEmpty());
  EXPECT_THAT(codes(read_yaml("a: " + repeated("[", 32) + repeated("]", 32), "f")),
              ElementsAre("E109"));
  EXPECT_THAT(codes(read_yaml(repeated("#\n", YamlLimits::kBytes / 2), "f")), IsEmpty());
  EXPECT_THAT(codes(read_yaml(repeated("#\n", YamlLimits::kBytes / 2) + "#", "f")),
              ElementsAre("E109"));
  EXPECT_THAT(codes(read_yaml("#" + repeated("x", YamlLimits::kLineBytes), "f")),
              ElementsAre("E109"));
  // The list, its key and the mapping around them are values, too.
  EXPECT_THAT(codes(read_yaml("a:\n" + repeated("- 1\n", YamlLimits::kNodes - 3), "f")), IsEmpty());
  EXPECT_THAT(codes(read_yaml("a:\n" + repeated("- 1\n", YamlLimits::kNodes), "f")),
              ElementsAre("E109"));
}

TEST(YamlDocumentTest, AliasesAndCyclesAreRefused) {
  EXPECT_THAT(codes(read_yaml("a: &x [*x]\n", "f")), ElementsAre("E109", "E109"));
  EXPECT_THAT(codes(read_yaml("a: *unknown\n", "f")), ElementsAre("E109"));
}

TEST(YamlDocumentTest, HostileFilesEndQuickly) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<std::string> files = {
      repeated("[", 200'000),
      repeated("{a: ", 200'000),
      repeated("a: {", 4000),
      repeated("- ", 8000),
      repeated("? ", 8000),
      repeated("\"", 16'000),
      repeated("&a ", 5000),
      repeated("a: 1\n", 100'000),
      repeated("x" + repeated(" ", 60) + "\n", 10'000),
      repeated("\t: \"\n", 50'000),
      "a: [" + repeated("1,", 7000) + "]\n" + repeated("b: [" + repeated("1,", 7000) + "]\n", 12),
  };
  for (const std::string& file : files)
    (void)read_yaml(file.substr(0, YamlLimits::kBytes), "f");

  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 20.0);
}

}  // namespace
}  // namespace mgpu
