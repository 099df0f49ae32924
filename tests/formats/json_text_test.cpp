// Compares the JSON that we print with that of nlohmann/json, byte for byte, and reads values back.
#include <bit>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <mgpu/formats/json_value.hpp>

namespace mgpu::formats {
namespace {

using Json = nlohmann::ordered_json;
using List = JsonValue::List;
using Members = JsonValue::Members;

struct Oracle {
  Json operator()(const List& list) const {
    Json json = Json::array();
    for (const JsonValue& item : list)
      json.push_back(std::visit(*this, item.held()));
    return json;
  }
  Json operator()(const Members& members) const {
    Json json = Json::object();
    for (const auto& [name, value] : members)
      json[name] = std::visit(*this, value.held());
    return json;
  }
  template <class T>
  Json operator()(const T& value) const {
    return value;
  }
};

void expect_same(const JsonValue& value) {
  const auto replace = Json::error_handler_t::replace;
  const Json json = std::visit(Oracle{}, value.held());
  EXPECT_EQ(to_json(value, BadUtf8::replace), json.dump(2, ' ', false, replace) + "\n");
  EXPECT_EQ(to_json_line(value, BadUtf8::replace), json.dump(-1, ' ', false, replace));
}

/// Returns whether nlohmann/json refuses to print a value.
bool oracle_refuses(const JsonValue& value) {
  try {
    static_cast<void>(std::visit(Oracle{}, value.held()).dump());
    return false;
  } catch (const Json::type_error&) {
    return true;
  }
}

bool is_refused(const JsonValue& value) {
  try {
    static_cast<void>(to_json_line(value));
    return false;
  } catch (const JsonError&) {
    return true;
  }
}

TEST(JsonTextTest, NumbersHaveTheseBytes) {
  const List numbers{0, -1, 1.0, -0.0, 0.1, 1e22, 1e-7, 5e-324, 123456789012345680.0, 1e15, 1e14};

  EXPECT_EQ(
      to_json_line(numbers),
      "[0,-1,1.0,-0.0,0.1,1e+22,1e-07,5e-324,1.2345678901234568e+17,1e+15,100000000000000.0]");
}

TEST(JsonTextTest, NumbersAreThoseOfTheOracle) {
  using Int = std::numeric_limits<std::int64_t>;
  using Real = std::numeric_limits<double>;
  expect_same(List{0, 1, -1, Int::max(), Int::min(), std::numeric_limits<std::uint64_t>::max(),
                   std::uint64_t{1} << 63, std::uint32_t{4294967295}, std::int8_t{-128}});
  expect_same(List{0.0, -0.0, 1.0, -2.5, 1e22, 1e21, 1e15, 1e16, 1e-4, 1e-5, 1e-7, 5e-324,
                   Real::max(), Real::min(), Real::lowest(), Real::epsilon(), 0.1F, 1.0 / 3.0});
  expect_same(List{Real::quiet_NaN(), Real::infinity(), -Real::infinity()});
}

TEST(JsonTextTest, RandomDoublesAreThoseOfTheOracleAndComeBack) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto value = std::bit_cast<double>(random());
    const std::string text = to_json_line(value);
    ASSERT_EQ(text, Json(value).dump());
    if (text == "null") continue;
    const JsonValue back = parse_json_object("{\"v\":" + text + "}");
    ASSERT_EQ(std::bit_cast<std::uint64_t>(back.get<double>("v")),
              std::bit_cast<std::uint64_t>(value));
  }
}

TEST(JsonTextTest, EveryByteIsEscapedAsByTheOracle) {
  std::string all;
  for (int c = 0; c < 128; ++c)
    all += static_cast<char>(c);
  expect_same(Members{{"all", all}, {all, nullptr}});
  EXPECT_EQ(to_json_line(std::string("\0\x1f\x7f\"\\/\b\f\n\r\t", 11)),
            "\"\\u0000\\u001f\x7f\\\"\\\\/\\b\\f\\n\\r\\t\"");
}

TEST(JsonTextTest, TextsThatAreNotUtf8) {
  for (const char* text :
       {"\x80",
        "a\xff"
        "b",
        "\xc3", "\xc3\x28", "\xe2\x82",
        "\xe2\x82"
        "x",
        "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x9f\x98", "\xf0\x9f\x98\x80", "\xf4\x90\x80\x80",
        "\xf0\x80\x80\x80", "\xf5\x80", "\xe2\xe2\x82\xac", "\xf0\x9f\xc3\xa9", "\xc3\xa9\xc3"}) {
    expect_same(List{text});
    EXPECT_EQ(is_refused(text), oracle_refuses(text)) << text;
  }
  EXPECT_TRUE(is_refused(Members{{"\xff", 1}}));
  EXPECT_EQ(to_json_line("\xe2\x82x", BadUtf8::replace), "\"\xef\xbf\xbdx\"");
}

TEST(JsonTextTest, RandomBytesAreReplacedAsByTheOracle) {
  static constexpr unsigned char kLikely[] = {0x20, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0,
                                              0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed,
                                              0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff};
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::size_t length = random() % 8; text.size() < length;)
      text += static_cast<char>(kLikely[random() % std::size(kLikely)]);
    const JsonValue value = text;
    ASSERT_EQ(to_json_line(value, BadUtf8::replace),
              Json(text).dump(-1, ' ', false, Json::error_handler_t::replace));
    ASSERT_EQ(is_refused(value), oracle_refuses(value));
  }
}

TEST(JsonTextTest, NestedValuesAreIndentedAsByTheOracle) {
  const Members empties{{"list", List{}}, {"object", Members{}}, {"lists", List{List{}, List{}}}};
  expect_same(List{});
  expect_same(Members{});
  expect_same(nullptr);
  expect_same(true);
  expect_same("text");
  expect_same(Members{{"b", false}, {"a", empties}, {"c", List{1, empties, "x", nullptr, List{}}}});
  EXPECT_EQ(to_json(empties),
            "{\n  \"list\": [],\n  \"object\": {},\n  \"lists\": [\n    [],\n    []\n  ]\n}\n");
}

TEST(JsonTextTest, ContainersBecomeListsAndObjects) {
  const std::vector<std::string> words{"b", "a"};
  const std::map<std::string, std::uint64_t> counts{{"y", 1}, {"x", 18446744073709551615U}};

  EXPECT_EQ(to_json_line(List(words.begin(), words.end())), "[\"b\",\"a\"]");
  EXPECT_EQ(to_json_line(Members(counts.begin(), counts.end())),
            "{\"x\":18446744073709551615,\"y\":1}");
}

class ReadTest : public testing::Test {
protected:
  template <class T>
  std::string refusal_of(const char* name) {
    try {
      static_cast<void>(json_.get<T>(name));
    } catch (const JsonError& error) {
      return error.why();
    }
    return "";
  }

  JsonValue json_ = parse_json_object(R"({"flag": true, "whole": 300, "real": 1.0, "minus": -1,
      "text": "a", "null": null, "numbers": [1, 2.5], "names": {"x": "y"},
      "large": 9223372036854775808})");
};

TEST_F(ReadTest, ValuesOfEachType) {
  EXPECT_TRUE(json_.get<bool>("flag"));
  EXPECT_EQ(json_.get<std::uint64_t>("whole"), 300U);
  EXPECT_EQ(json_.get<std::int64_t>("minus"), -1);
  EXPECT_EQ(json_.get<double>("whole"), 300.0);
  EXPECT_EQ(json_.get<double>("large"), 9223372036854775808.0);
  EXPECT_EQ(json_.get<std::string>("text"), "a");
  EXPECT_EQ(json_.get<std::vector<double>>("numbers"), (std::vector<double>{1.0, 2.5}));
  EXPECT_EQ((json_.get<std::map<std::string, std::string>>("names").at("x")), "y");
  EXPECT_EQ(json_.get<List>("numbers").at(0).as<int>(), 1);
}

TEST_F(ReadTest, OtherTypesAndRangesAreRefused) {
  const std::string wrong = " has the wrong type or range";
  EXPECT_EQ(refusal_of<int>("absent"), "`absent` is missing");
  EXPECT_EQ(refusal_of<int>("real"), "`real`" + wrong);
  EXPECT_EQ(refusal_of<int>("flag"), "`flag`" + wrong);
  EXPECT_EQ(refusal_of<std::uint8_t>("whole"), "`whole`" + wrong);
  EXPECT_EQ(refusal_of<std::uint32_t>("minus"), "`minus`" + wrong);
  EXPECT_EQ(refusal_of<std::uint64_t>("large"), "`large`" + wrong);
  EXPECT_EQ(refusal_of<bool>("whole"), "`whole`" + wrong);
  EXPECT_EQ(refusal_of<double>("text"), "`text`" + wrong);
  EXPECT_EQ(refusal_of<std::string>("null"), "`null`" + wrong);
  EXPECT_EQ(refusal_of<std::vector<int>>("numbers"), "`numbers`" + wrong);
  EXPECT_EQ(refusal_of<List>("names"), "`names`" + wrong);
  EXPECT_EQ((refusal_of<std::map<std::string, int>>("names")), "`names`" + wrong);
  EXPECT_THROW(static_cast<void>(JsonValue(1).at("a")), JsonError);
  EXPECT_THROW(static_cast<void>(JsonValue("a").as<int>()), JsonError);
}

}  // namespace
}  // namespace mgpu::formats
