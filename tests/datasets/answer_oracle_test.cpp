// Compares our judgments of answers with those of math-verify (tests/oracle/answer_goldens.py).
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/datasets/answers.hpp>

namespace mgpu::datasets {
namespace {

struct Pair {
  std::string kind;
  std::string expected;
  std::string completion;
  bool is_same = false;
};

std::vector<Pair> read_pairs() {
  std::vector<Pair> pairs;
  std::ifstream file(MGPU_GOLDENS "/answers.tsv");
  for (std::string line; std::getline(file, line);) {
    std::istringstream cells(line);
    Pair pair;
    std::string same;
    std::getline(cells, pair.kind, '\t');
    std::getline(cells, pair.expected, '\t');
    std::getline(cells, pair.completion, '\t');
    std::getline(cells, same, '\t');
    const std::string mark = "⏎";
    if (const std::size_t at = pair.completion.find(mark); at != std::string::npos)
      pair.completion.replace(at, mark.size(), "\n");
    pair.is_same = same == "1";
    pairs.push_back(pair);
  }
  return pairs;
}

TEST(AnswerOracleTest, AtMostTwoPercentDiffer) {
  const std::set<std::string> exact = {"integer", "long_integer", "decimal", "fraction",
                                       "boxed",   "thousands",    "sign",    "marked"};
  const std::vector<Pair> pairs = read_pairs();
  ASSERT_EQ(pairs.size(), 2000U);
  std::map<std::string, int> different;
  int sum = 0;
  for (const Pair& pair : pairs) {
    if (is_right(pair.completion, pair.expected) == pair.is_same) continue;
    EXPECT_FALSE(exact.contains(pair.kind)) << pair.expected << " and " << pair.completion;
    ++different[pair.kind];
    ++sum;
    std::cout << pair.kind << ": " << pair.expected << " and " << pair.completion
              << (pair.is_same ? ", equal for math-verify\n" : ", different for math-verify\n");
  }
  for (const auto& [kind, count] : different)
    std::cout << "kind " << kind << ": " << count << " differ\n";
  std::cout << sum << " of " << pairs.size()
            << " pairs differ: " << 100.0 * sum / static_cast<double>(pairs.size()) << " %\n";
  EXPECT_LE(sum, 40);
}

}  // namespace
}  // namespace mgpu::datasets
