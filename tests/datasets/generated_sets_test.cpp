// Tests the data sets star_graph, arithmetic and choice: rows, splits, checks, and the refusal of
// keys that ask for impossible rows.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/formats/json_value.hpp>

#include "made_dataset.hpp"
#include "star_graph.hpp"

namespace mgpu::datasets {
namespace {

formats::JsonValue row_of(const Dataset& dataset, Split split, std::int64_t index) {
  return formats::parse_json_object(dataset.row(split, index));
}

std::vector<std::int64_t> ids_of(const formats::JsonValue& row, const char* name) {
  return row.get<std::vector<std::int64_t>>(name);
}

/// Returns all rows of the three splits, and expects that no row comes twice.
std::set<std::string> different_rows(const Dataset& dataset) {
  std::set<std::string> rows;
  std::int64_t count = 0;
  for (const Split split : {Split::train, Split::validation, Split::test})
    for (std::int64_t i = 0; i < dataset.rows(split); ++i, ++count)
      rows.insert(dataset.row(split, i));
  EXPECT_EQ(std::ssize(rows), count);
  return rows;
}

const std::vector<Values> kSets = {
    {{"data.dataset", "star_graph"}, {"data.star_graph.rows", "[3000, 200, 500]"}},
    {{"data.dataset", "star_graph"},
     {"data.star_graph.form", "texts"},
     {"data.star_graph.rows", "[3000, 200, 500]"}},
    {{"data.dataset", "arithmetic"}, {"data.arithmetic.rows", "[3000, 200, 500]"}},
    {{"data.dataset", "choice"}, {"data.choice.rows", "[3000, 200, 500]"}},
};

TEST(GeneratedSetsTest, NoRowIsInTwoSplits) {
  for (const Values& values : kSets)
    EXPECT_EQ(different_rows(*made(values).dataset).size(), 3700U);
}

TEST(GeneratedSetsTest, TheDefaultsOfEachSetFitTogether) {
  for (const char* name : {"star_graph", "arithmetic", "choice"})
    EXPECT_EQ(made({{"data.dataset", name}}).dataset->rows(Split::test), 4000) << name;
}

TEST(GeneratedSetsTest, ARowDependsOnSeedAndIndexAlone) {
  for (const Values& values : kSets) {
    Values other = values;
    other["run.seed"] = "5";
    const DatasetRows first = made(values);
    const DatasetRows again = made(values);
    const DatasetRows seeded = made(other);
    int different = 0;
    for (const std::int64_t index : {499, 3, 20, 3}) {
      EXPECT_EQ(first.rows->row(index), again.rows->row(index));
      different += first.rows->row(index) == seeded.rows->row(index) ? 0 : 1;
    }
    EXPECT_GE(different, 3);
  }
}

TEST(GeneratedSetsTest, MoreRowsToTrainOnLeaveTheOthersAsTheyAre) {
  const DatasetRows few = made({{"data.dataset", "choice"}, {"data.choice.rows", "[10, 5, 7]"}});
  const DatasetRows many = made({{"data.dataset", "choice"}, {"data.choice.rows", "[90, 5, 7]"}});
  EXPECT_EQ(few.dataset->row(Split::test, 6), many.dataset->row(Split::test, 6));
  EXPECT_EQ(few.dataset->row(Split::validation, 4), many.dataset->row(Split::validation, 4));
  EXPECT_EQ(few.dataset->row(Split::train, 9), many.dataset->row(Split::train, 9));
}

TEST(GeneratedSetsTest, TheCompletionOfARowIsRight) {
  for (const Values& values : kSets) {
    const DatasetRows chosen = made(values);
    ASSERT_TRUE(chosen.dataset->has_check());
    EXPECT_EQ(chosen.dataset->metric(), "accuracy");
    for (std::int64_t i = 0; i < 50; ++i) {
      const formats::JsonValue row = row_of(*chosen.dataset, Split::test, i);
      Answer right;
      Answer wrong;
      std::vector<std::int64_t> ids;
      if (const formats::JsonValue* text = row.find("completion")) {
        right.text = *text->text();
        wrong.text = right.text.substr(0, right.text.size() - 1);
      } else {
        ids = ids_of(row, "completion_ids");
        right.ids = ids;
        wrong.ids = right.ids.subspan(1);
      }
      EXPECT_EQ(chosen.dataset->score(Split::test, i, right), 1.0) << chosen.rows->row(i);
      EXPECT_EQ(chosen.dataset->score(Split::test, i, wrong), 0.0) << chosen.rows->row(i);
      EXPECT_EQ(chosen.dataset->score(Split::test, i, {}), 0.0);
      EXPECT_EQ(chosen.dataset->given_answer({}), std::nullopt);
      const std::optional<std::string> given = chosen.dataset->given_answer(right);
      ASSERT_TRUE(given) << chosen.rows->row(i);
      EXPECT_TRUE(chosen.dataset->is_same(*given, *given));
      const std::optional<std::string> other = chosen.dataset->given_answer(wrong);
      EXPECT_FALSE(other && chosen.dataset->is_same(*given, *other)) << *given;
    }
  }
}

TEST(StarGraphTest, ARowHasTheTokensOfThePapers) {
  const DatasetRows chosen = made({{"data.dataset", "star_graph"}});  // G(2, 5), 50 labels
  const formats::JsonValue row = row_of(*chosen.dataset, Split::train, 11);
  const std::vector<std::int64_t> prompt = ids_of(row, "token_ids");
  const std::vector<std::int64_t> path = ids_of(row, "completion_ids");
  ASSERT_EQ(prompt.size(), 27U);
  ASSERT_EQ(path.size(), 5U);
  EXPECT_EQ(std::ranges::count(prompt, 50), 7);
  EXPECT_EQ(prompt[23], 52);
  EXPECT_EQ(prompt[24], path.front());
  EXPECT_EQ(prompt[25], path.back());
  EXPECT_EQ(prompt[26], 51);
  std::multimap<std::int64_t, std::int64_t> edges;
  for (std::size_t i = 0; i < 24; i += 3)
    edges.emplace(prompt[i], prompt[i + 1]);
  EXPECT_EQ(edges.count(path.front()), 2U);
  for (std::size_t i = 1; i < path.size(); ++i) {
    const auto [begin, end] = edges.equal_range(path[i - 1]);
    EXPECT_TRUE(std::any_of(begin, end, [&](const auto& edge) { return edge.second == path[i]; }));
  }
}

TEST(StarGraphTest, TextsAreThoseOfThePapers) {
  const StarGraph graph{{4, 1, 7}, {{4, 9}, {1, 7}, {9, 2}, {4, 1}}};
  EXPECT_EQ(graph.prompt(), "4,9|1,7|9,2|4,1/4,7=");
  EXPECT_EQ(graph.path_text(), "4,1,7");
  const DatasetRows texts =
      made({{"data.dataset", "star_graph"}, {"data.star_graph.form", "texts"}});
  const std::string path = row_of(*texts.dataset, Split::test, 0).get<std::string>("completion");
  EXPECT_EQ(texts.dataset->score(Split::test, 0, {" " + path + "|3", {}}), 1.0);
  EXPECT_EQ(texts.dataset->score(Split::test, 0, {path + "0", {}}), 0.0);
  const auto given = [&](std::string_view text) { return texts.dataset->given_answer({text, {}}); };
  EXPECT_EQ(given(" " + path + "|3"), path);
  EXPECT_EQ(given(path + ",3"), path);
  EXPECT_EQ(given("12,7 and more"), "12,7");
  EXPECT_EQ(given("12,,7"), "12");
  EXPECT_EQ(given("a path"), std::nullopt);
  EXPECT_FALSE(texts.dataset->is_same("4,123", "4123"));
}

TEST(StarGraphTest, EveryGraphOfASmallShapeComesOnceBeforeAnyComesAgain) {
  const StarGraphs graphs({2, 3, 5}, 3);  // 5! orders of the nodes
  ASSERT_EQ(graphs.graphs(), 120U);
  EXPECT_EQ(graphs.rows(), 120U * 24U);
  std::set<std::string> different;
  std::set<std::vector<std::pair<std::int64_t, std::int64_t>>> rows;
  for (std::uint64_t i = 0; i < graphs.rows(); ++i) {
    StarGraph graph = graphs.row(i);
    rows.insert(graph.edges);
    std::ranges::sort(graph.edges);
    different.insert(graph.prompt());
    if (i + 1 == graphs.graphs()) {
      EXPECT_EQ(different.size(), 120U);
    }
  }
  EXPECT_EQ(different.size(), 120U);
  // Each list of edges occurs twice, with the end of either arm as the goal.
  EXPECT_EQ(rows.size(), graphs.rows() / 2);
  EXPECT_EQ(StarGraphs({4, 3, 9}, 0).graphs(), std::uint64_t{9 * 8 * 7 * 20 * 6});
}

TEST(StarGraphTest, ARandomArmFollowsEdgesWhateverTheGoalAndTheOrder) {
  const StarGraphs graphs({3, 4, 50}, 0);
  constexpr std::uint64_t kRows = 3000;
  int to_the_goal = 0;
  int first_in_order = 0;
  for (std::uint64_t i = 0; i < kRows; ++i) {
    const StarGraph graph = graphs.row(i);
    ASSERT_EQ(graph.random_arm.size(), 4U);
    EXPECT_EQ(graph.random_arm[0], graph.path[0]);
    for (std::size_t at = 1; at < 4; ++at)
      EXPECT_EQ(std::ranges::count(graph.edges,
                                   std::pair{graph.random_arm[at - 1], graph.random_arm[at]}),
                1);
    const auto first = std::ranges::find(graph.edges, graph.path[0],
                                         &std::pair<std::int64_t, std::int64_t>::first);
    to_the_goal += graph.random_arm == graph.path ? 1 : 0;
    first_in_order += graph.random_arm[1] == first->second ? 1 : 0;
  }
  EXPECT_NEAR(to_the_goal, 1000, 104);  // four standard deviations
  EXPECT_NEAR(first_in_order, 1000, 104);
}

TEST(StarGraphTest, CompletionsFollowTheChosenArm) {
  const StarGraphs graphs({2, 5, 50}, 0);
  for (const char* form : {"texts", "ids"}) {
    const DatasetRows rows = made({{"data.dataset", "star_graph"},
                                   {"data.star_graph.arm", "random"},
                                   {"data.star_graph.form", form}});
    double right = 0.0;
    for (std::int64_t i = 0; i < 100; ++i) {
      const StarGraph graph = graphs.row(static_cast<std::uint64_t>(i));
      const formats::JsonValue row = row_of(*rows.dataset, Split::test, i);
      if (row.find("answer") != nullptr) {
        EXPECT_EQ(row.get<std::string>("prompt"), graph.prompt());
        EXPECT_EQ(row.get<std::string>("completion"), graph.random_arm_text());
        EXPECT_EQ(row.get<std::string>("answer"), graph.path_text());
      } else {
        EXPECT_EQ(ids_of(row, "completion_ids"), graph.random_arm);
      }
      right += rows.dataset->score(Split::test, i, {graph.random_arm_text(), graph.random_arm});
    }
    EXPECT_NEAR(right, 50.0, 20.0);
  }
}

TEST(StarGraphTest, LargeShapesHaveDifferentGraphs) {
  const StarGraphs graphs({5, 5, 50}, 0);
  std::set<std::string> different;
  for (std::uint64_t i = 0; i < 5000; ++i)
    different.insert(graphs.row(i).prompt());
  EXPECT_EQ(different.size(), 5000U);
}

TEST(ArithmeticTest, APromptHasItsChainSeveralTimesWithCharactersBetween) {
  Values values = {{"data.dataset", "arithmetic"}, {"data.arithmetic.rows", "[200, 10, 50]"}};
  const DatasetRows once = made(values);
  values["data.arithmetic.copies"] = "3";
  const DatasetRows several = made(values);
  std::set<std::size_t> counts;
  for (std::int64_t i = 0; i < 200; ++i) {
    const formats::JsonValue plain = row_of(*once.dataset, Split::train, i);
    const formats::JsonValue row = row_of(*several.dataset, Split::train, i);
    const std::string chain = plain.get<std::string>("prompt");
    const std::string prompt = row.get<std::string>("prompt");
    EXPECT_EQ(row.get<std::string>("completion"), plain.get<std::string>("completion"));
    EXPECT_TRUE(prompt.ends_with(chain));
    EXPECT_TRUE(prompt.starts_with(chain));
    std::size_t count = 0;
    for (std::size_t at = prompt.find(chain); at != std::string::npos;
         at = prompt.find(chain, at + 1))
      ++count;
    EXPECT_LE(prompt.size(), count * (chain.size() + 9));
    counts.insert(count);
  }
  EXPECT_EQ(counts.size(), 3U);
}

TEST(ArithmeticTest, WorkedSolutionsHaveALineForEachPartialSum) {
  const Values values = {{"data.dataset", "arithmetic"},
                         {"data.arithmetic.terms", "3"},
                         {"data.arithmetic.largest", "9"},
                         {"data.arithmetic.rows", "[100, 10, 50]"}};
  Values worked_values = values;
  worked_values["data.arithmetic.worked"] = "true";
  worked_values["data.arithmetic.modulus"] = "10";
  const DatasetRows worked = made(worked_values);
  for (std::int64_t i = 0; i < 50; ++i) {
    const formats::JsonValue row = row_of(*worked.dataset, Split::test, i);
    const std::string prompt = row.get<std::string>("prompt");  // (1 + 2 - 3) mod 10 =
    const auto digit = [&](std::size_t at) { return prompt[at] - '0'; };
    const int first = prompt[3] == '+' ? digit(1) + digit(5) : digit(1) - digit(5);
    const int second = prompt[7] == '+' ? first + digit(9) : first - digit(9);
    const std::string answer = std::to_string((second + 20) % 10);
    const std::string expected = " " + prompt.substr(1, 5) + " = " + std::to_string(first) + "\n" +
                                 std::to_string(first) + prompt.substr(6, 4) + " = " +
                                 std::to_string(second) + "\n" + std::to_string(second) +
                                 " mod 10 = " + answer + "\n#### " + answer;
    ASSERT_EQ(row.get<std::string>("completion"), expected) << prompt;
    EXPECT_EQ(worked.dataset->score(Split::test, i, {expected, {}}), 1.0) << prompt;
    EXPECT_EQ(row.get<std::string>("answer"), answer);
  }
}

TEST(ArithmeticTest, SumsAreRight) {
  const DatasetRows chosen = made({{"data.dataset", "arithmetic"},
                                   {"data.arithmetic.terms", "3"},
                                   {"data.arithmetic.largest", "9"},
                                   {"data.arithmetic.modulus", "10"},
                                   {"data.arithmetic.rows", "[100, 10, 50]"}});
  for (std::int64_t i = 0; i < 50; ++i) {
    const formats::JsonValue row = row_of(*chosen.dataset, Split::test, i);
    const std::string prompt = row.get<std::string>("prompt");
    ASSERT_EQ(prompt.size(), std::string("(1 + 2 - 3) mod 10 =").size()) << prompt;
    int sum = prompt[1] - '0';
    sum += prompt[3] == '+' ? prompt[5] - '0' : '0' - prompt[5];
    sum += prompt[7] == '+' ? prompt[9] - '0' : '0' - prompt[9];
    EXPECT_EQ(row.get<std::string>("answer"), std::to_string((sum + 20) % 10)) << prompt;
  }
  const std::string answer = row_of(*chosen.dataset, Split::test, 0).get<std::string>("answer");
  EXPECT_EQ(chosen.dataset->score(Split::test, 0, {" " + answer + "\n1 + 1", {}}), 1.0);
  EXPECT_EQ(chosen.dataset->score(Split::test, 0, {"so \\boxed{" + answer + "}", {}}), 1.0);
  EXPECT_EQ(chosen.dataset->score(Split::test, 0, {" " + answer + "1", {}}), 0.0);
}

TEST(ChoiceTest, TheLetterIsThatOfTheAnswer) {
  const DatasetRows chosen = made({{"data.dataset", "choice"}, {"data.choice.options", "3"}});
  const formats::JsonValue row = row_of(*chosen.dataset, Split::test, 2);
  const std::string prompt = row.get<std::string>("prompt");
  const std::string letter = row.get<std::string>("answer");
  EXPECT_NE(prompt.find("\nC. "), std::string::npos);
  EXPECT_EQ(prompt.find("\nD. "), std::string::npos);
  const auto score = [&](const std::string& text) {
    return chosen.dataset->score(Split::test, 2, {text, {}});
  };
  EXPECT_EQ(score("It is (" + letter + ")."), 1.0);
  EXPECT_EQ(score("\\boxed{\\text{" + letter + "}}"), 1.0);
  EXPECT_EQ(score(letter == "A" ? "B, not A" : "A, not " + letter), 0.0);
  EXPECT_EQ(score("No answer"), 0.0);
}

TEST(GeneratedSetsTest, TooManyRowsAreRefused) {
  const ErrorReport sums = failure_of({{"data.dataset", "arithmetic"},
                                       {"data.arithmetic.largest", "1"},
                                       {"data.arithmetic.rows", "[8, 1, 0]"}});
  EXPECT_EQ(sums.code, "E124");
  EXPECT_EQ(sums.sentence,
            "the splits of data set arithmetic need 9 different rows, and there are "
            "only 8");
  EXPECT_EQ(sums.help, "data.arithmetic.rows=[8, 0, 0]");
  EXPECT_EQ(failure_of({{"data.dataset", "choice"}, {"data.choice.rows", "[5, 5]"}}).code, "E107");
  const ErrorReport graph = failure_of({{"data.dataset", "star_graph"},
                                        {"data.star_graph.arms", "5"},
                                        {"data.star_graph.nodes", "20"}});
  EXPECT_EQ(graph.sentence, "a star graph G(5, 5) has 21 nodes, and there are only 20 labels");
  EXPECT_EQ(graph.help, "data.star_graph.nodes=21");
  EXPECT_EQ(failure_of({{"data.dataset", "choice"}, {"data.choice.rows", "[5, 5, 0]"}}).sentence,
            "data set choice has no split test");
}

}  // namespace
}  // namespace mgpu::datasets
