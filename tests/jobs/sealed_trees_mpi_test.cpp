// Tests how trees are read from a result file, and exported as steps with labels.
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/store/results/columns.hpp>

#include "jobs/collect/stepwise.hpp"
#include "jobs/collect/tree_reader.hpp"
#include "store/sealed_table.hpp"
#include "support/made_config.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::config_of;
using testing_support::Keys;
using testing_support::report_of_failure;

using Integers = std::vector<std::int32_t>;

/// Columns with the tree of a question. The defaults are the values of an unusable question.
struct StoredTree {
  std::string prompt{};
  std::string answers = "[]";
  std::string steps = "[]";
  std::vector<std::uint8_t> path_right{};
  Integers path{};
  Integers step{};
  Integers parent{};
  std::vector<double> value{};
  std::vector<double> error{};
  Integers visits{};
  Integers right{};
};

/// Returns three solutions. The first two share a node of two steps (1), and end in nodes 2 and 3.
/// The third has one step (4). No solution continues node 5.
StoredTree three_paths() {
  return {"q?",
          R"(["4", "", "5"])",
          R"([["a \n", "b\n", "c\n"], ["a \n", "b\n", "d"], ["e\n"]])",
          {1, 0, 0},
          {-1, 0, 0, 1, 2, -1},
          {0, 2, 3, 3, 1, 1},
          {-1, 0, 1, 1, 0, 0},
          {0.25, 0.5, 1.0, 0.0, 0.0, 0.0},
          {0.0, 0.125, 0.0, 0.0, 0.0, 0.0},
          {3, 8, 1, 1, 1, 0},
          {1, 4, 1, 0, 0, 0}};
}

store::Columns<StoredTree> columns_of_trees() {
  using Row = StoredTree;
  store::Columns<Row> columns;
  columns.add({"prompt", ""}, [](const Row& row) { return row.prompt; });
  columns.add({"answers", ""}, [](const Row& row) { return row.answers; });
  columns.add({"steps", ""}, [](const Row& row) { return row.steps; });
  columns.add({"path_right", ""}, [](const Row& row) { return row.path_right; });
  columns.add({"node_path", ""}, [](const Row& row) { return row.path; });
  columns.add({"node_step", ""}, [](const Row& row) { return row.step; });
  columns.add({"node_parent", ""}, [](const Row& row) { return row.parent; });
  columns.add({"node_value", ""}, [](const Row& row) { return row.value; });
  columns.add({"node_std_error", ""}, [](const Row& row) { return row.error; });
  columns.add({"node_visits", ""}, [](const Row& row) { return row.visits; });
  columns.add({"node_right", ""}, [](const Row& row) { return row.right; });
  return columns;
}

/// A result file with trees, and its export.
class SealedTrees {
public:
  explicit SealedTrees(const std::vector<StoredTree>& rows,
                       const store::Columns<StoredTree>& columns = columns_of_trees()) {
    const store::TableSpec table = columns.table("samples", std::ssize(rows));
    results_ = store::test::seal_table(cluster::Group::world(), folder_.path(), table,
                                       columns.encode(table, 0, rows));
  }

  const std::filesystem::path& results() const { return results_; }
  std::filesystem::path out() const { return folder_.path() / "stepwise.jsonl"; }

  std::int64_t write(const std::filesystem::path& out, const Keys& more = {}) const {
    Keys keys = {{"job", "collect"}, {"model.path", "m"}, {"data.path", "d"}};
    keys.insert(more.begin(), more.end());
    const Config config = config_of(keys);
    return export_stepwise({config, results_, out});
  }

  /// Returns the lines of the export with these keys.
  std::vector<std::string> lines(const Keys& more = {}) const {
    const std::int64_t count = write(out(), more);
    std::ifstream file(out(), std::ios::binary);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);)
      lines.push_back(line);
    EXPECT_EQ(std::ssize(lines), count);
    return lines;
  }

private:
  testing_support::TemporaryFolder folder_;
  std::filesystem::path results_;
};

TEST(TreeReaderTest, ANodeHasTheTextOfAllStepsAfterItsParent) {
  const SealedTrees file({three_paths()});
  const TreeReader trees(file.results());
  ASSERT_EQ(trees.rows(), 1);
  const ReadTree tree = trees.read(0);

  EXPECT_EQ(tree.prompt, "q?");
  EXPECT_EQ(tree.right_paths(), 1);
  ASSERT_THAT(tree.paths, SizeIs(3));
  ASSERT_THAT(tree.paths[0].steps, SizeIs(2));
  EXPECT_TRUE(tree.paths[0].is_right);
  EXPECT_EQ(tree.paths[0].answer, "4");
  EXPECT_EQ(tree.paths[0].steps[0].text, "a \nb\n");
  EXPECT_EQ(tree.paths[0].steps[1].text, "c\n");
  ASSERT_THAT(tree.paths[1].steps, SizeIs(2));
  EXPECT_EQ(tree.paths[1].steps[1].text, "d");
  EXPECT_EQ(tree.paths[1].answer, "");
  ASSERT_THAT(tree.paths[2].steps, SizeIs(1));
  for (const std::size_t path : {0U, 1U}) {
    const ReadStep& shared = tree.paths[path].steps[0];
    EXPECT_EQ(shared.value, 0.5);
    EXPECT_EQ(shared.standard_error, 0.125);
    EXPECT_EQ(shared.visits, 8);
    EXPECT_EQ(shared.right, 4);
  }
}

TEST(TreeReaderTest, AQuestionThatCouldNotBeUsedHasNoPaths) {
  const SealedTrees file({{"left out"}, three_paths()});
  const TreeReader trees(file.results());
  EXPECT_EQ(trees.read(0).prompt, "left out");
  EXPECT_THAT(trees.read(0).paths, IsEmpty());
  EXPECT_THAT(trees.read(1).paths, SizeIs(3));
}

TEST(TreeReaderTest, ListsThatContradictEachOtherAreRefusedByRow) {
  const std::vector<std::function<void(StoredTree&)>> damages = {
      [](StoredTree& row) { row.steps = "no list"; },
      [](StoredTree& row) { row.steps = R"(["a", "b", "c"])"; },
      [](StoredTree& row) { row.answers = R"(["4", 5, ""])"; },
      [](StoredTree& row) { row.answers = R"(["4", "5"])"; },
      [](StoredTree& row) {
        row.path_right = {1, 0};
      },
      [](StoredTree& row) { row.steps = R"([["a", "b", "c"], ["a", "b", "d"]])"; },
      [](StoredTree& row) { row.steps = R"([["a"], ["a", "b", "d"], ["e"]])"; },  // no end node
      [](StoredTree& row) { row.path[4] = 3; },    // there are three paths
      [](StoredTree& row) { row.path[4] = -1; },   // path 2 has no node
      [](StoredTree& row) { row.parent[2] = 2; },  // a node is its own parent
      [](StoredTree& row) { row.parent[2] = 3; },  // a parent has a lower index
      [](StoredTree& row) { row.parent[2] = -1; },
      [](StoredTree& row) { row.step[1] = -1; },
      [](StoredTree& row) { row.step[1] = 0; },   // only the root has no step
      [](StoredTree& row) { row.step[1] = 3; },   // no step is left for its children
      [](StoredTree& row) { row.step[2] = 4; }};  // the path has three steps
  for (std::size_t d = 0; d < damages.size(); ++d) {
    StoredTree damaged = three_paths();
    damages[d](damaged);
    const SealedTrees file({three_paths(), damaged});
    const TreeReader trees(file.results());
    EXPECT_THAT(trees.read(0).paths, SizeIs(3)) << d;
    const ErrorReport report = report_of_failure([&] { trees.read(1); });
    EXPECT_EQ(report.code, "E605") << d;
    EXPECT_EQ(report.exit, ExitCode::data) << d;
    EXPECT_EQ(report.sentence, "the steps of row 1 do not fit the nodes of the trees") << d;
    EXPECT_THAT(report.lines, ElementsAre("  --> " + file.results().string())) << d;
  }
}

TEST(TreeReaderTest, ListsOfNodesHaveTheSameLength) {
  StoredTree damaged = three_paths();
  damaged.visits.pop_back();
  const SealedTrees file({damaged});
  const ErrorReport report = report_of_failure([&] { TreeReader{file.results()}; });
  EXPECT_EQ(report.code, "E605");
  EXPECT_EQ(report.sentence, "the steps of a row do not fit the nodes of the trees");
}

TEST(TreeReaderTest, FilesWithoutTreesAreRefused) {
  store::Columns<StoredTree> columns;
  columns.add({"prompt", ""}, [](const StoredTree& row) { return row.prompt; });
  const SealedTrees file({three_paths()}, columns);
  EXPECT_EQ(report_of_failure([&] { TreeReader{file.results()}; }).code, "E605");
  const ErrorReport missing = report_of_failure([] { TreeReader{"nowhere/results.h5"}; });
  EXPECT_EQ(missing.code, "E603");
  EXPECT_EQ(missing.exit, ExitCode::no_input);
}

TEST(StepwiseTest, ASolutionIsALineWithItsStepsLabelsAndValues) {
  const SealedTrees file({{"left out"}, three_paths()});
  EXPECT_THAT(
      file.lines(),
      ElementsAre(
          R"({"prompt":"q?","completions":["a \nb","c"],"labels":[true,true],"values":[0.5,1.0]})",
          R"({"prompt":"q?","completions":["a \nb","d"],"labels":[true,false],"values":[0.5,0.0]})",
          R"({"prompt":"q?","completions":["e"],"labels":[false],"values":[0.0]})"));
}

TEST(StepwiseTest, StepsOfTokensKeepTheirBlanks) {
  const SealedTrees file({three_paths()});
  EXPECT_THAT(file.lines({{"collect.split", "tokens"}})[2], HasSubstr(R"("completions":["e\n"])"));
}

TEST(StepwiseTest, RunsWithoutStepsOfTextsAreRefused) {
  const auto refusal_of = [](const StoredTree& row, const Keys& keys = {}) {
    const SealedTrees file({row});
    const ErrorReport report = report_of_failure([&] { file.write(file.out(), keys); });
    EXPECT_EQ(report.code, "E143");
    EXPECT_EQ(report.exit, ExitCode::usage);
    EXPECT_THAT(report.lines, ElementsAre("  --> " + file.results().string()));
    return report.sentence;
  };
  StoredTree ids = three_paths();
  ids.prompt = "";
  EXPECT_THAT(refusal_of(ids), HasSubstr("token ids without texts"));
  EXPECT_THAT(refusal_of({}), HasSubstr("no solutions"));
  EXPECT_THAT(refusal_of(three_paths(), {{"collect.steps", "latent"}}),
              HasSubstr("the work of agents"));
}

TEST(StepwiseTest, AFileThatCannotBeWrittenIsNamed) {
  const SealedTrees file({three_paths()});
  const ErrorReport report = report_of_failure([&] { file.write("nowhere/stepwise.jsonl"); });
  EXPECT_EQ(report.code, "E602");
  EXPECT_EQ(report.exit, ExitCode::io);
  EXPECT_THAT(report.lines, ElementsAre("  --> nowhere/stepwise.jsonl"));
}

}  // namespace
}  // namespace mgpu::jobs
