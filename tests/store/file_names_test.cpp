// Tests names of files and folders: the numbers in them, the names that users may give, and quoting
// for a shell.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/config/key_table.hpp>
#include <mgpu/store/run_dir/repro.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

#include "store/file_numbers.hpp"

namespace mgpu::store {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(FileNumbersTest, NumbersOfFourToNineDigits) {
  EXPECT_THAT(numbers_in("0007.json", "#.json"), Optional(ElementsAre(7)));
  EXPECT_THAT(numbers_in("999999999.json", "#.json"), Optional(ElementsAre(999999999)));
  EXPECT_THAT(numbers_in("attempt_0012.rank_00345", "attempt_#.rank_#"),
              Optional(ElementsAre(12, 345)));
}

TEST(FileNumbersTest, OtherNamesHaveNone) {
  for (const char* name : {"", "007.json", "1000000000.json", "0007.jso", "0007.json1",
                           "x0007.json", "-0007.json", "0007_json", ".json", "0007"})
    EXPECT_EQ(numbers_in(name, "#.json"), std::nullopt) << name;
  EXPECT_EQ(numbers_in("attempt_0001.rank_0002.ledger", "attempt_#.rank_#"), std::nullopt);
  EXPECT_EQ(numbers_in("attempt_0001.rank_", "attempt_#.rank_#"), std::nullopt);
}

TEST(RunNameTest, LettersDigitsAndSomeSigns) {
  KeyTable table;
  add_store_keys(table);
  const KeySpec& key = *table.find("run.name");

  for (const char* name : {"run", "A_1", "_x", "7.b+c-d"})
    EXPECT_EQ(key.why_not(name), nullptr) << name;
  for (const char* name : {"", ".hidden", "-x", "+x", "a/b", "a b", "a:b", "\xc3\xa9", "a\n"})
    EXPECT_STREQ(key.why_not(name), "becomes a file name: letters, digits, _ . + -") << name;
}

TEST(ShellWordTest, OtherWordsAreQuoted) {
  for (const char* word : {"a", "run.name=x", "_@%+=:,./-"})
    EXPECT_EQ(shell_word(word), word);
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word("\xc3\xa9"), "'\xc3\xa9'");
}

}  // namespace
}  // namespace mgpu::store
