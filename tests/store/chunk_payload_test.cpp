#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/store/journal/chunk_payload.hpp>

namespace mgpu::store {
namespace {

TableSpec two_columns() {
  return {"t", 10, {{"x", ColumnType::f32, 2, "", ""}, {"s", ColumnType::text, 1, "", ""}}, "", ""};
}

std::vector<std::byte> encoded(const TableSpec& spec) {
  ChunkEncoder encoder(spec, 4, 2);
  encoder.column<float>("x", std::vector<float>{1, 2, 3, 4});
  encoder.text("s", std::vector<std::string>{"a", "bc"});
  return encoder.finish();
}

TEST(ChunkPayloadTest, ColumnsComeBack) {
  const TableSpec spec = two_columns();
  const std::vector<std::byte> payload = encoded(spec);

  const ChunkHead head = ChunkHead::read(spec, payload, payload.size());

  EXPECT_EQ(head.first_row, 4);
  EXPECT_EQ(head.rows, 2);
  std::vector<float> x(4);
  ASSERT_EQ(head.columns[0].bytes, 16U);
  std::memcpy(x.data(), payload.data() + head.columns[0].offset, 16);
  EXPECT_EQ(x, (std::vector<float>{1, 2, 3, 4}));
  const auto text = std::span(payload).subspan(head.columns[1].offset, head.columns[1].bytes);
  EXPECT_EQ(decode_texts(text, 2), (std::vector<std::string>{"a", "bc"}));
  EXPECT_EQ(crc32c(text), head.columns[1].crc);
}

TEST(ChunkPayloadTest, WrongUseIsRefused) {
  const TableSpec spec = two_columns();
  ChunkEncoder encoder(spec, 0, 2);

  EXPECT_THROW(encoder.column<float>("x", std::vector<float>{1}), ShapeError);
  EXPECT_THROW(encoder.column<double>("x", std::vector<double>{1, 2, 3, 4}), Error);
  EXPECT_THROW(encoder.column<float>("y", std::vector<float>{1}), Error);
  EXPECT_THROW(encoder.finish(), Error);
  EXPECT_THROW(ChunkEncoder(spec, 9, 2), Error);
}

// Each row has a given text, and the text that is stored for it. Source: RFC 3629, section 4.
TEST(ChunkPayloadTest, StoredTextIsUtf8WithoutZero) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80", "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80"},
      {std::string("a\0b", 3), "a\uFFFDb"},
      {"\xC3", "\uFFFD"},                                // cut off
      {"\xC0\xAF", "\uFFFD\uFFFD"},                      // overlong
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},            // surrogate
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},  // beyond U+10FFFF
      {"\xE2\x82x", "\uFFFD\uFFFDx"}};
  for (const auto& [given, stored] : rows) {
    const TableSpec spec{"t", 1, {{"s", ColumnType::text, 1, "", ""}}, "", ""};
    ChunkEncoder encoder(spec, 0, 1);
    encoder.text("s", std::vector<std::string>{given});
    const std::vector<std::byte> payload = encoder.finish();
    const ChunkHead head = ChunkHead::read(spec, payload, payload.size());
    const auto bytes = std::span(payload).subspan(head.columns[0].offset);
    EXPECT_EQ(decode_texts(bytes, 1).front(), stored);
  }
}

TEST(ChunkPayloadTest, NoCutOrChangedHeadIsTakenForGood) {
  const TableSpec spec = two_columns();
  const std::vector<std::byte> payload = encoded(spec);

  for (std::size_t size = 0; size < payload.size(); ++size) {
    EXPECT_THROW(ChunkHead::read(spec, std::span(payload).first(size), size), Failure) << size;
  }
  // Wrong lengths and numbers of rows must be detected before they are used for reading.
  for (const std::size_t at : {8U, 16U, 24U, 40U}) {
    std::vector<std::byte> changed = payload;
    const std::uint64_t huge = std::numeric_limits<std::uint64_t>::max() / 2;
    std::memcpy(changed.data() + at, &huge, sizeof huge);
    EXPECT_THROW(ChunkHead::read(spec, changed, changed.size()), Failure) << at;
  }
  EXPECT_THROW(decode_texts(std::span(payload).first(15), 2), Failure);
}

TEST(ChunkPayloadTest, ListsOfAnyLengthComeBack) {
  const ColumnSpec column{"l", ColumnType::i32, 1, "", "", true};
  const TableSpec spec{"t", 3, {column}, "", ""};
  ChunkEncoder encoder(spec, 0, 3);
  encoder.lists<std::int32_t>("l", std::vector<std::vector<std::int32_t>>{{7}, {}, {8, 9}});
  const std::vector<std::byte> payload = encoder.finish();
  const ChunkHead head = ChunkHead::read(spec, payload, payload.size());
  std::vector<std::byte> bytes(
      payload.begin() + static_cast<std::ptrdiff_t>(head.columns[0].offset), payload.end());

  const ListBytes lists = decode_lists(bytes, 3, column);

  EXPECT_EQ(lists.lengths, (std::vector<std::int64_t>{1, 0, 2}));
  ASSERT_EQ(lists.values.size(), 12U);
  std::int32_t last = 0;
  std::memcpy(&last, lists.values.data() + 8, 4);
  EXPECT_EQ(last, 9);
  for (const std::int64_t length : {std::int64_t{2}, std::int64_t{0}, std::int64_t{-1}}) {
    std::memcpy(bytes.data(), &length, sizeof length);  // changes only the first list's length
    EXPECT_THROW(decode_lists(bytes, 3, column), Failure) << length;
  }
  EXPECT_THROW(decode_lists(std::span(bytes).first(23), 3, column), Failure);
}

TEST(ChunkPayloadTest, ListsNeedARaggedColumnOfTheirType) {
  const TableSpec spec{
      "t", 1, {{"l", ColumnType::i32, 2, "", "", true}, {"x", ColumnType::i32, 1, "", ""}}, "", ""};
  ChunkEncoder encoder(spec, 0, 1);
  const std::vector<std::vector<std::int32_t>> pair{{1, 2}};
  const std::vector<std::vector<std::int32_t>> odd{{1, 2, 3}};

  EXPECT_THROW(encoder.lists<float>("l", std::vector<std::vector<float>>{{1, 2}}), Error);
  EXPECT_THROW(encoder.lists<std::int32_t>("x", pair), Error);
  EXPECT_THROW(encoder.column<std::int32_t>("l", pair[0]), Error);
  EXPECT_THROW(encoder.lists<std::int32_t>("l", odd), ShapeError);
  EXPECT_THROW(encoder.lists<std::int32_t>("l", std::span(pair).first(0)), ShapeError);
  encoder.lists<std::int32_t>("l", pair);
  EXPECT_THROW(encoder.lists<std::int32_t>("l", pair), Error);
}

TEST(TableSpecTest, BadSpecsAreRefused) {
  EXPECT_NO_THROW(two_columns().validate());
  for (const auto& change : std::vector<void (*)(TableSpec&)>{
           [](TableSpec& s) { s.path = std::string("/t"); }, [](TableSpec& s) { s.rows = -1; },
           [](TableSpec& s) { s.columns[1].name = std::string("x"); },
           [](TableSpec& s) { s.columns[1].name = std::string("a/b"); },
           [](TableSpec& s) { s.columns[0].width = 0; },
           [](TableSpec& s) { s.columns[1].width = 2; },
           [](TableSpec& s) { s.columns[1].ragged = true; },
           [](TableSpec& s) { s.columns.clear(); },
           [](TableSpec& s) { s.signal = std::string("nothing"); }}) {
    TableSpec spec = two_columns();
    change(spec);
    EXPECT_THROW(spec.validate(), Error);
  }
}

}  // namespace
}  // namespace mgpu::store
