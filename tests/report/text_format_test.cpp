#include <chrono>
#include <limits>

#include <gtest/gtest.h>

#include <mgpu/report/escape.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

TEST(TextFormatTest, TimesAreHoursMinutesSeconds) {
  EXPECT_EQ(h_mm_ss(3170), "0:52:50");
  EXPECT_EQ(h_mm_ss(90000), "25:00:00");
  EXPECT_EQ(h_mm_ss(-1), "-");
  EXPECT_EQ(h_mm_ss(std::numeric_limits<double>::quiet_NaN()), "-");
  EXPECT_EQ(m_ss(3170), "52:50");
  EXPECT_EQ(m_ss(5400), "1:30:00");
  EXPECT_EQ(m_ss(3599.7), "1:00:00");
  EXPECT_EQ(m_ss(7.26, true), "0:07.3");
  EXPECT_EQ(m_ss(59.96, true), "1:00.0");
  EXPECT_EQ(m_ss(600, true), "10:00");
}

TEST(TextFormatTest, StampsAreUtcAndRoundedDown) {
  using std::chrono::milliseconds;
  const std::chrono::system_clock::time_point when{milliseconds(1795257727999)};

  EXPECT_EQ(utc_seconds(when), "2026-11-21T10:42:07Z");
  EXPECT_EQ(utc_millis(when), "2026-11-21T10:42:07.999Z");
}

TEST(TextFormatTest, SizesHaveBinaryUnitsAndOneDecimal) {
  EXPECT_EQ(bytes_text(17), "17 B");
  EXPECT_EQ(bytes_text(3565158), "3.4 MiB");
  EXPECT_EQ(bytes_text((1ULL << 30) - 1), "1.0 GiB");
  EXPECT_EQ(bytes_text(1ULL << 40), "1.0 TiB");
}

TEST(TextFormatTest, RatesKeepThreeDigitsOrWholeNumbers) {
  EXPECT_EQ(rate_text(9.26), "9.26");
  EXPECT_EQ(rate_text(9.996), "10.0");
  EXPECT_EQ(rate_text(99.96), "100");
  EXPECT_EQ(rate_text(18963.2), "18963");
  EXPECT_EQ(rate_text(123456), "123k");
  EXPECT_EQ(rate_text(999600), "1.0M");
  EXPECT_EQ(rate_text(12.34e6), "12.3M");
}

TEST(TextFormatTest, GroupedSetsCommas) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(412300), "412,300");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
}

TEST(TextFormatTest, CountedHasAPluralForAllNumbersButOne) {
  EXPECT_EQ(counted(0, "prompt"), "0 prompts");
  EXPECT_EQ(counted(1, "prompt"), "1 prompt");
  EXPECT_EQ(counted(412300, "prompt"), "412,300 prompts");
}

TEST(TextFormatTest, RankListFoldsRuns) {
  EXPECT_EQ(rank_list({}), "");
  EXPECT_EQ(rank_list({5}), "5");
  EXPECT_EQ(rank_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

TEST(TextFormatTest, WidthsCountCodePoints) {
  EXPECT_EQ(width_of("h\xC3\xB6he"), 4U);
  EXPECT_EQ(pad_right("\xC3\xB6", 3), "\xC3\xB6  ");
  EXPECT_EQ(pad_left("ab", 1), "ab");
  EXPECT_EQ(clip("abcdef", 5), "ab...");
  EXPECT_EQ(clip("\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6\xC3\xB6", 4), "\xC3\xB6...");
  EXPECT_EQ(clip("abcdef", 2), "..");
}

TEST(EscapeTest, LogLinesCannotMoveACursor) {
  EXPECT_EQ(escape_log("a\nb\tc\rd\x1b[2K\x7f"), "a\\nb\\tc\\x0dd\\x1b[2K\\x7f");
  EXPECT_EQ(escape_log("\xC2\x9B"
                       "31m"),
            "\\xc2\\x9b31m");  // CSI as one C1 character
  EXPECT_EQ(escape_log("caf\xC3\xA9 \xF0\x9F\x98\x80"), "caf\xC3\xA9 \xF0\x9F\x98\x80");
}

TEST(EscapeTest, BytesThatAreNotUtf8AreShownAsHex) {
  EXPECT_EQ(escape_log("\xC3"), "\\xc3");
  EXPECT_EQ(escape_log("\xC0\xAF"), "\\xc0\\xaf");           // overlong slash
  EXPECT_EQ(escape_log("\xED\xA0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(escape_log("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

TEST(EscapeTest, HtmlNeverOpensATag) {
  EXPECT_EQ(escape_html("a\u202Etxt.exe\u2069"), "a\uFFFDtxt.exe\uFFFD");
  EXPECT_EQ(escape_log("\u202E"), "\\xe2\\x80\\xae");
  EXPECT_EQ(escape_html("\u05D0\u200F"), "\u05D0\u200F") << "marks that turn nothing stay";
  EXPECT_EQ(escape_html("<a href=\"x\">'&'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
  EXPECT_EQ(escape_html(std::string_view("a\0b\xFF", 4)),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

}  // namespace
}  // namespace mgpu::report
