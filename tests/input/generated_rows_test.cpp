// Compares rows that the program generates with a file of the same rows.
#include <memory>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/input/generated_rows.hpp>

#include "made_file.hpp"

namespace mgpu::input {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kRows = 100;

/// Generates rows {"text": "row i"}. The argument of the constructor replaces row 7.
class Numbered final : public GeneratedRows {
public:
  explicit Numbered(std::string seventh = R"({"text": "row 7"})") : seventh_(std::move(seventh)) {}

  std::string name() const override { return "data set numbered"; }
  std::int64_t rows() const override { return kRows; }
  std::string row(std::int64_t index) const override {
    if (index == 7) return seventh_;
    return R"({"text": "row )" + std::to_string(index) + R"("})";
  }

private:
  std::string seventh_;
};

RowOptions options_of(std::shared_ptr<const GeneratedRows> rows) {
  RowOptions options;
  options.generated = std::move(rows);
  options.one_of = {"text"};
  return options;
}

TEST(GeneratedRowsTest, TheyAreThoseOfAFile) {
  const Numbered numbered;
  std::string lines;
  for (std::int64_t i = 0; i < kRows; ++i)
    lines += numbered.row(i) + "\n";
  const MadeFile made("data.jsonl", lines);

  const RowFile file = open_rows(made.options);
  const RowFile generated = open_rows(options_of(std::make_shared<Numbered>()));

  EXPECT_EQ(generated.rows(), kRows);
  EXPECT_EQ(generated.crc(), file.crc());
  EXPECT_EQ(generated.bytes(), file.bytes());
  EXPECT_EQ(generated.path(), "data set numbered");
  for (const std::int64_t first : {90, 3, 0}) {  // in any order
    const Row row = generated.read(first, 2).at(1);
    EXPECT_EQ(row.id, first + 1);
    EXPECT_EQ(row.line, first + 2);
    EXPECT_EQ(text_in(row, "text"), "row " + std::to_string(first + 1));
  }
}

TEST(GeneratedRowsTest, StartAndNumberAreThoseOfTheKeys) {
  RowOptions options = options_of(std::make_shared<Numbered>());
  options.start = 40;
  options.max_samples = 5;
  const RowFile rows = open_rows(options);
  EXPECT_EQ(rows.rows(), 5);
  EXPECT_EQ(text_in(rows.read(4, 1).at(0), "text"), "row 44");
  options.start = kRows;
  EXPECT_THAT(refusal(options), HasSubstr("data set numbered"));
}

TEST(GeneratedRowsTest, ABadRowIsNamed) {
  EXPECT_THAT(refusal(options_of(std::make_shared<Numbered>("{"))),
              HasSubstr("data set numbered:8: "));
  EXPECT_THAT(refusal(options_of(std::make_shared<Numbered>(R"({"prompt": "p"})"))),
              HasSubstr("data set numbered:8: "));
}

}  // namespace
}  // namespace mgpu::input
