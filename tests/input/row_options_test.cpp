#include <filesystem>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/config/config_reader.hpp>
#include <mgpu/input/row_options.hpp>

namespace mgpu::input {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// Returns the options from a file of these lines.
RowOptions options_of(const std::string& text) {
  KeyTable table;
  table.add({.name = "data.path",
             .type = KeyType::path,
             .default_value = "null",
             .summary = "the file",
             .choices = {"null"}});
  add_input_keys(table);
  ConfigSources sources;
  sources.file = "conf.yaml";
  sources.working_directory = "/folder";
  sources.read = [&](const std::filesystem::path&) { return text; };
  return read_row_options(read_config(table, sources));
}

TEST(RowOptionsTest, DefaultsAreAllRowsUnderOurNames) {
  const RowOptions options = options_of("data: {path: rows.csv}");

  EXPECT_EQ(options.path, "/folder/rows.csv");
  EXPECT_EQ(options.format, RowFormat::automatic);
  EXPECT_TRUE(options.columns.empty());
  EXPECT_EQ(options.start, 0);
  EXPECT_FALSE(options.max_samples.has_value());
  EXPECT_EQ(options.on_bad_row, BadRow::stop);
  EXPECT_TRUE(options.has_header);
  EXPECT_TRUE(options.has_quotes);
}

TEST(RowOptionsTest, ColumnsAreAMapping) {
  const RowOptions options = options_of(
      "data:\n"
      "  path: rows.tsv\n"
      "  format: tsv\n"
      "  columns: {text: input_text, label: 1}\n"
      "  max_samples: 10\n"
      "  start: 3\n"
      "  on_bad_row: mark\n"
      "  header: false\n"
      "  quotes: false\n");

  EXPECT_THAT(options.columns, ElementsAre(Pair("text", "input_text"), Pair("label", "1")));
  EXPECT_EQ(options.format, RowFormat::tsv);
  EXPECT_EQ(options.max_samples, 10);
  EXPECT_EQ(options.start, 3);
  EXPECT_EQ(options.on_bad_row, BadRow::mark);
  EXPECT_FALSE(options.has_header);
  EXPECT_FALSE(options.has_quotes);
}

TEST(RowOptionsTest, ANameThatIsNotOursIsRefusedWithTheNearest) {
  try {
    options_of("data:\n  path: rows.csv\n  columns: {txt: input_text}\n");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(render(failure.report()), HasSubstr("did you mean `text`?"));
  }
}

}  // namespace
}  // namespace mgpu::input
