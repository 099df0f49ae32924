#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/store/results/columns.hpp>

#include "chunk_values.hpp"

namespace mgpu::store {
namespace {

using testing::ElementsAre;

enum class Color : std::uint8_t { red, green };

struct Row {
  std::int32_t number = 0;
  double loss = 0.0;
  std::string text{};
  std::vector<float> list{};
  std::vector<std::uint16_t> pair{};
  Color color = Color::red;
};

Columns<Row> all_kinds() {
  Columns<Row> columns;
  columns.add({"number", "a number", "tokens"}, [](const Row& row) { return row.number; });
  columns.add({"loss", "another one"}, [](const Row& row) { return row.loss; });
  columns.add({"text", "a text"}, [](const Row& row) { return row.text; });
  columns.add(
      {"list", "pairs", "nats"}, [](const Row& row) { return row.list; }, 2);
  columns.add_wide({"pair", "two numbers"}, 2, [](const Row& row) { return row.pair; });
  columns.add_code({"color", "a name"}, {"red", "green"}, [](const Row& row) { return row.color; });
  return columns;
}

TEST(ColumnsTest, TheTypeOfAColumnIsThatOfItsValues) {
  const TableSpec table = all_kinds().table("samples", 7);

  EXPECT_EQ(table.path, "samples");
  EXPECT_EQ(table.rows, 7);
  EXPECT_THAT(test::names_of(table),
              ElementsAre("number", "loss", "text", "list", "pair", "color"));
  std::vector<ColumnType> types;
  for (const ColumnSpec& column : table.columns)
    types.push_back(column.type);
  EXPECT_THAT(types, ElementsAre(ColumnType::i32, ColumnType::f64, ColumnType::text,
                                 ColumnType::f32, ColumnType::u16, ColumnType::u8));
  table.validate();
}

TEST(ColumnsTest, AListHasItemsAndAWideColumnHasNumbersOfItsWidth) {
  const TableSpec table = all_kinds().table("samples", 7);

  EXPECT_TRUE(table.columns[3].ragged);
  EXPECT_EQ(table.columns[3].width, 2);
  EXPECT_EQ(table.columns[3].units, "nats");
  EXPECT_FALSE(table.columns[4].ragged);
  EXPECT_EQ(table.columns[4].width, 2);
  EXPECT_THAT(table.columns[5].names, ElementsAre("red", "green"));
  EXPECT_TRUE(table.columns[4].names.empty());
}

TEST(ColumnsTest, EncodedRowsComeBackColumnByColumn) {
  const Columns<Row> columns = all_kinds();
  const TableSpec table = columns.table("samples", 7);
  const std::vector<Row> rows = {{3, 0.5, "a", {1, 2, 3, 4}, {5, 6}, Color::green},
                                 {-4, 0.25, "", {}, {7, 8}, Color::red}};

  const test::ChunkValues chunk(table, columns.encode(table, 5, rows));

  EXPECT_EQ(chunk.first_row(), 5);
  EXPECT_EQ(chunk.rows(), 2);
  EXPECT_THAT(chunk.numbers<std::int32_t>("number"), ElementsAre(3, -4));
  EXPECT_THAT(chunk.numbers<double>("loss"), ElementsAre(0.5, 0.25));
  EXPECT_THAT(chunk.texts("text"), ElementsAre("a", ""));
  EXPECT_THAT(chunk.lists<float>("list"),
              ElementsAre(ElementsAre(1.0F, 2.0F, 3.0F, 4.0F), ElementsAre()));
  EXPECT_THAT(chunk.numbers<std::uint16_t>("pair"), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(chunk.numbers<std::uint8_t>("color"), ElementsAre(1, 0));
}

TEST(ColumnsTest, ValuesThatDoNotFillTheirWidthAreRefused) {
  const Columns<Row> columns = all_kinds();
  const TableSpec table = columns.table("samples", 7);
  const Row narrow{.pair = {1}};
  const Row odd{.list = {1, 2, 3}, .pair = {1, 2}};

  EXPECT_THROW(columns.encode(table, 0, {&narrow, 1}), ShapeError);
  EXPECT_THROW(columns.encode(table, 0, {&odd, 1}), ShapeError);
}

TEST(ColumnsTest, RowsBeyondTheTableAreRefused) {
  const Columns<Row> columns = all_kinds();
  const Row row{.pair = {1, 2}};

  EXPECT_THROW(columns.encode(columns.table("samples", 1), 1, {&row, 1}), Error);
}

}  // namespace
}  // namespace mgpu::store
