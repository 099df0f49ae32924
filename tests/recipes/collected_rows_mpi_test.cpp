// Tests how recipe prm reads the trees of job collect, from files made for the tests.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/store/results/columns.hpp>

#include "recipes/prm/collected_rows.hpp"
#include "store/sealed_table.hpp"
#include "support/made_config.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::recipes {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing_support::report_of_failure;

using Ints = std::vector<std::int32_t>;

/// The lists of a question; at first those of a question without solutions.
struct Tree {
  std::int64_t question = 0;
  std::string prompt = "what";
  Ints prompt_ids{};
  std::vector<std::uint8_t> path_right{};
  Ints path_offsets{0};
  Ints output_ids{};
  Ints node_path{};
  Ints node_step{};
  Ints node_parent{};
  Ints node_tokens{};
  std::vector<double> node_value{};
  std::string steps = "[]";
};

/// Returns two solutions with the same first step. The last node has two steps of the
/// second one.
Tree two_paths() {
  return {.question = 5,
          .prompt = "1 + 1?",
          .prompt_ids = {40, 41},
          .path_right = {0, 1},
          .path_offsets = {0, 3, 8},
          .output_ids = {7, 8, 9, 7, 8, 4, 5, 6},
          .node_path = {-1, 0, 0, 1},
          .node_step = {0, 1, 2, 3},
          .node_parent = {-1, 0, 1, 1},
          .node_tokens = {0, 2, 1, 3},
          .node_value = {0.5, 0.25, 0.0, 1.0},
          .steps = R"([["a\n", "b"], ["a\n", "c\n", "d"]])"};
}

/// Returns one solution with one step.
Tree one_path() {
  return {.question = 9,
          .prompt_ids = {42},
          .path_right = {1},
          .path_offsets = {0, 1},
          .output_ids = {3},
          .node_path = {-1, 0},
          .node_step = {0, 1},
          .node_parent = {-1, 0},
          .node_tokens = {0, 1},
          .node_value = {1.0, 1.0},
          .steps = R"([["e"]])"};
}

/// Writes a result file with the trees, but without the column `absent`. The numbers of the list
/// column `wide` have 64 bits.
std::filesystem::path write(const std::filesystem::path& folder, const std::vector<Tree>& trees,
                            const std::string& absent = "", const std::string& wide = "") {
  store::Columns<Tree> columns;
  const auto add = [&](const char* name, auto member) {
    if (name != absent) columns.add({name, "made"}, [member](const Tree& t) { return t.*member; });
  };
  const auto add_ints = [&](const char* name, Ints Tree::*member) {
    if (name != wide) return add(name, member);
    columns.add({name, "made"}, [member](const Tree& t) {
      return std::vector<std::int64_t>((t.*member).begin(), (t.*member).end());
    });
  };
  add("question_index", &Tree::question);
  add("prompt", &Tree::prompt);
  add("path_right", &Tree::path_right);
  add_ints("prompt_ids", &Tree::prompt_ids);
  add_ints("path_offsets", &Tree::path_offsets);
  add_ints("output_ids", &Tree::output_ids);
  add_ints("node_path", &Tree::node_path);
  add_ints("node_step", &Tree::node_step);
  add_ints("node_parent", &Tree::node_parent);
  add_ints("node_tokens", &Tree::node_tokens);
  add("node_value", &Tree::node_value);
  add("steps", &Tree::steps);
  const store::TableSpec table = columns.table("samples", std::ssize(trees));
  return store::test::seal_table(cluster::Group::world(), folder, table,
                                 columns.encode(table, 0, trees));
}

formats::JsonValue row_of(const CollectedRows& rows, std::int64_t index) {
  return formats::parse_json_object(rows.row(index));
}

/// Returns the report of the failure to read the last row of a file of these trees.
ErrorReport refusal(const std::vector<Tree>& trees, const std::string& absent = "",
                    const std::string& wide = "") {
  const testing_support::TemporaryFolder folder;
  const std::filesystem::path path = write(folder.path(), trees, absent, wide);
  ErrorReport report = report_of_failure([&] {
    const CollectedRows rows(path);
    rows.row(rows.rows() - 1);
  });
  if (!report.code.empty()) {
    EXPECT_EQ(report.code, "E605");
    EXPECT_EQ(report.exit, ExitCode::data);
    EXPECT_THAT(report.lines, ElementsAre("  --> " + path.string()));
  }
  return report;
}

/// Returns the refusal of two_paths() after `change`.
template <class Change>
std::string refusal_after(Change change) {
  Tree tree = two_paths();
  change(tree);
  return refusal({tree}).sentence;
}

TEST(CollectedRowsTest, ASolutionIsARowWithTheTokensAndValuesOfItsNodes) {
  const testing_support::TemporaryFolder folder;
  const CollectedRows rows(write(folder.path(), {two_paths()}));
  ASSERT_EQ(rows.rows(), 2);

  const formats::JsonValue row = row_of(rows, 0);
  EXPECT_EQ(row.get<std::int64_t>("question"), 5);
  EXPECT_EQ(row.get<std::string>("prompt"), "1 + 1?");
  EXPECT_THAT(row.get<Ints>("prompt_ids"), ElementsAre(40, 41));
  EXPECT_THAT(row.get<Ints>("output_ids"), ElementsAre(7, 8, 9));
  EXPECT_THAT(row.get<Ints>("ends"), ElementsAre(2, 3));
  EXPECT_THAT(row.get<std::vector<std::string>>("completions"), ElementsAre("a\n", "b"));
  EXPECT_THAT(row.get<std::vector<double>>("values"), ElementsAre(0.25, 0.0));
  const formats::JsonValue::List& labels = *row.at("labels").list();
  ASSERT_EQ(labels.size(), 2U);
  EXPECT_TRUE(labels[0].as<bool>());
  EXPECT_FALSE(labels[1].as<bool>());
}

TEST(CollectedRowsTest, ANodeMayHaveSeveralStepsAndAParentOfAnotherSolution) {
  const testing_support::TemporaryFolder folder;
  const CollectedRows rows(write(folder.path(), {two_paths()}));
  const formats::JsonValue row = row_of(rows, 1);
  EXPECT_THAT(row.get<Ints>("output_ids"), ElementsAre(7, 8, 4, 5, 6));
  EXPECT_THAT(row.get<Ints>("ends"), ElementsAre(2, 5));
  EXPECT_THAT(row.get<std::vector<std::string>>("completions"), ElementsAre("a\n", "c\nd"));
  EXPECT_THAT(row.get<std::vector<double>>("values"), ElementsAre(0.25, 1.0));
}

TEST(CollectedRowsTest, QuestionsWithoutSolutionsHaveNoRowInAnyOrder) {
  const testing_support::TemporaryFolder folder;
  const CollectedRows rows(
      write(folder.path(), {Tree{}, two_paths(), Tree{}, Tree{}, one_path(), two_paths(), Tree{}}));
  ASSERT_EQ(rows.rows(), 5);
  const std::vector<std::int64_t> questions = {5, 5, 9, 5, 5};
  for (const std::int64_t index : {0, 1, 2, 3, 4, 2, 4, 0})
    EXPECT_EQ(row_of(rows, index).get<std::int64_t>("question"),
              questions[static_cast<std::size_t>(index)])
        << index;
  EXPECT_THAT(row_of(rows, 3).get<Ints>("output_ids"), ElementsAre(7, 8, 9));
  EXPECT_THAT(row_of(rows, 4).get<Ints>("output_ids"), ElementsAre(7, 8, 4, 5, 6));
}

TEST(CollectedRowsTest, FilesOfOtherJobsAreRefused) {
  EXPECT_THAT(refusal({one_path()}, "node_value").sentence, HasSubstr("no column `node_value`"));
  EXPECT_THAT(refusal({one_path()}, "path_right").help, HasSubstr("results.h5 of job collect"));
  EXPECT_THAT(refusal({one_path()}, "", "node_tokens").sentence,
              HasSubstr("column `node_tokens` has numbers of another type"));
  EXPECT_THAT(refusal({Tree{}}).sentence, HasSubstr("no question of the file has solutions"));
  EXPECT_EQ(refusal({one_path()}).code, "");
  const auto missing = report_of_failure([] { const CollectedRows rows("/nowhere/results.h5"); });
  EXPECT_EQ(missing.code, "E603");
  EXPECT_EQ(missing.exit, ExitCode::no_input);
}

TEST(CollectedRowsTest, ListsThatContradictEachOtherAreRefused) {
  const auto contradicts = HasSubstr("the steps of the file do not fit the nodes of its trees");
  EXPECT_EQ(refusal_after([](Tree&) {}), "");
  EXPECT_THAT(refusal_after([](Tree& t) { t.node_value.pop_back(); }), contradicts);
  EXPECT_THAT(refusal_after([](Tree& t) { t.node_parent[3] = 3; }), contradicts);  // a cycle
  EXPECT_THAT(refusal_after([](Tree& t) { t.node_parent[3] = 4; }), contradicts);
  EXPECT_THAT(refusal_after([](Tree& t) { t.node_step[3] = 2; }), contradicts);  // no step 3
  EXPECT_THAT(refusal_after([](Tree& t) { t.node_path[3] = 0; }), contradicts);
  EXPECT_THAT(refusal_after([](Tree& t) { t.node_tokens[3] = 2; }), contradicts);
  EXPECT_THAT(refusal_after([](Tree& t) { t.path_offsets[1] = 4; }), contradicts);
  EXPECT_THAT(refusal_after([](Tree& t) { t.path_offsets[2] = 9; }), contradicts);
  EXPECT_THAT(refusal_after([](Tree& t) { t.path_offsets.pop_back(); }), contradicts);
  EXPECT_THAT(refusal_after([](Tree& t) { t.path_offsets = {0, -1, 4}; }), contradicts);
  EXPECT_THAT(refusal_after([](Tree& t) { t.steps = R"([["a\n", "b"]])"; }), contradicts);
}

TEST(CollectedRowsTest, StepsThatAreNoTextsAreRefused) {
  for (const char* steps : {"[[1, 2], [3]]", R"(["a", "b"])", "[[", "{}", ""})
    EXPECT_EQ(refusal_after([&](Tree& t) { t.steps = steps; }),
              "the steps of the file are no texts")
        << steps;
}

}  // namespace
}  // namespace mgpu::recipes
