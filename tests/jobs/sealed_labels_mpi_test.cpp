// Tests numbers, tables and the CSV that job classify makes of a sealed file.
#include <cmath>
#include <fstream>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/store/results/small_table.hpp>

#include "app/tiny_run.hpp"
#include "classify_rows.hpp"
#include "jobs/classify/export.hpp"
#include "jobs/classify/latency_file.hpp"
#include "jobs/classify/plots.hpp"
#include "jobs/classify/small_tables.hpp"
#include "store/chunk_values.hpp"
#include "store/sealed_table.hpp"

namespace mgpu::jobs {
namespace {

using rows::RowStatus;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LatencyFileTest : public testing::Test {
protected:
  const testing_support::TemporaryFolder folder_;
};

TEST_F(LatencyFileTest, SecondsOfAChunkAreSharedByItsRows) {
  LatencyFile file(folder_.path(), 1, 0);
  file.add(0, 2, 1.0);
  file.add(4, 1, 0.25);
  EXPECT_THAT(read_latency(folder_.path(), 6), ElementsAre(0.5, 0.5, -1, -1, 0.25, -1));
}

TEST_F(LatencyFileTest, TheLatestAttemptCounts) {
  LatencyFile(folder_.path(), 2, 0).add(0, 1, 7.0);
  LatencyFile(folder_.path(), 1, 3).add(0, 2, 4.0);
  EXPECT_THAT(read_latency(folder_.path(), 2), ElementsAre(7.0, 2.0));
}

TEST_F(LatencyFileTest, LinesThatAreNotWholeOrNotOfThisTableDoNotCount) {
  LatencyFile(folder_.path(), 1, 0).add(0, 1, 1.0);
  std::ofstream(folder_.path() / "latency" / "attempt_0002.rank_0000.csv")
      << "1,5,9.0\n-1,1,9.0\n1,0,9.0\nwords\n2,1,3.0\n1,1,9.";
  EXPECT_THAT(read_latency(folder_.path(), 3), ElementsAre(1.0, -1.0, 3.0));
  EXPECT_THAT(read_latency(folder_.path() / "nowhere", 2), ElementsAre(-1, -1));
}

/// Seals a file with seven rows: two right ones, two mistakes, one without a true label, and two
/// that were left out.
class SealedLabelsTest : public testing::Test {
protected:
  SealedLabelsTest() {
    std::string rows;
    for (int row = 0; row < 7; ++row)
      rows += "{\"text\": \"a\"}\n";
    if (world_.rank() == 0) made_.emplace(rows);
    const std::string folder = world_.broadcast(made_ ? made_->folder().string() : "", 0);
    config_.emplace(test::config_of({{"job", "classify"},
                                     {"model.path", folder + "/model"},
                                     {"data.path", folder + "/rows.jsonl"},
                                     {"classify.labels", "[no, yes]"}}));
    inputs_.emplace(read_classify_inputs(*config_, read_classify_config(*config_)));
    seal();
  }
  ~SealedLabelsTest() override { world_.barrier(); }

  void seal() {
    const std::vector<ClassifySample> samples = {
        test::sample_of("a,\"b\"", 0),
        test::sample_of("b", 1),
        test::sample_of("c", 1),
        test::sample_of("b2", 0, {RowStatus::truncated, "cut"}),
        test::sample_of("d", -1),
        test::sample_of("e", 1, {RowStatus::too_long, "9 tokens"}),
        test::sample_of("f", -1, {RowStatus::bad_row, "empty"})};
    const std::vector<GivenLabel> given = {test::given_of(-1, -3),
                                           test::given_of(-5, -1),
                                           test::given_of(-1, -2),
                                           test::given_of(-9, -1),
                                           test::given_of(-1, -3),
                                           {},
                                           {}};
    results_ = store::test::seal_table(world_, folder_.path(), classify_table(*inputs_),
                                       classify_rows(*inputs_, 0, samples, given));
  }

  ClassifyPlots plots() const { return plots_of(world_, results_, inputs_->config); }

  static double metric(const ClassifyPlots& plots, const std::string& key) {
    for (const auto& metric : plots.metrics)
      if (metric.key == key) return metric.value;
    ADD_FAILURE() << "no metric " << key;
    return 0.0;
  }

  /// Returns the lines of the CSV that is exported from a result file.
  std::vector<std::string> exported(const std::filesystem::path& results) const {
    const std::filesystem::path out = folder_.path() / "labels.csv";
    export_labels({*config_, results, out});
    std::ifstream file(out, std::ios::binary);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
      EXPECT_TRUE(line.ends_with('\r'));
      line.pop_back();
      lines.push_back(line);
    }
    return lines;
  }

  const cluster::Group world_ = cluster::Group::world();
  const app::test::SharedFolder folder_{world_};
  std::optional<test::MadeInputs> made_;  // on rank 0 only
  std::optional<Config> config_;
  std::optional<ClassifyInputs> inputs_;
  std::filesystem::path results_;
};

TEST_F(SealedLabelsTest, RowsAreCountedByWhatBecameOfThem) {
  const ClassifyPlots plots = this->plots();

  EXPECT_EQ(plots.rows, 7);
  EXPECT_EQ(plots.judged, 5);
  EXPECT_EQ(plots.positive, "yes");
  EXPECT_THAT(plots.outcomes, (std::map<std::string, std::int64_t>{
                                  {"bad_row", 1}, {"ok", 4}, {"too_long", 1}, {"truncated", 1}}));
  EXPECT_THAT(plots.confusion, ElementsAre(1, 1, 0, 1, 1, 1));
}

TEST_F(SealedLabelsTest, MetricsAreThoseOfTheConfusion) {
  const ClassifyPlots plots = this->plots();

  EXPECT_DOUBLE_EQ(metric(plots, "accuracy"), 0.4);
  EXPECT_DOUBLE_EQ(metric(plots, "precision"), 0.5);
  EXPECT_DOUBLE_EQ(metric(plots, "recall"), 1.0 / 3.0);
  EXPECT_DOUBLE_EQ(metric(plots, "f1"), 0.4);
  EXPECT_DOUBLE_EQ(metric(plots, "macro_f1"), 0.45);
  EXPECT_DOUBLE_EQ(metric(plots, "false_positive_rate"), 0.5);
  EXPECT_DOUBLE_EQ(metric(plots, "false_negative_rate"), 2.0 / 3.0);
}

TEST_F(SealedLabelsTest, CurvesAreOfRowsWithATrueAndAFoundLabel) {
  const ClassifyPlots plots = this->plots();

  EXPECT_THAT(plots.roc.x, ElementsAre(0, 0.5, 0.5, 0.5, 1));
  EXPECT_THAT(plots.roc.y, ElementsAre(0, 0, 0.5, 1, 1));
  EXPECT_DOUBLE_EQ(metric(plots, "roc_auc"), 0.5);
  EXPECT_THAT(plots.calibration_rows,
              ElementsAre(1, 1, 2));  // confidences 0.73, 0.88, 0.98 and 1.00
  EXPECT_THAT(plots.calibration.y, ElementsAre(0, 1, 0.5));
  EXPECT_EQ(plots.positive_scores[19], 1);  // 0.98
  EXPECT_EQ(plots.positive_scores[5], 1);   // 0.27
  EXPECT_EQ(plots.other_scores[2], 1);      // 0.12
  EXPECT_EQ(plots.other_scores[19], 1);     // 1.00
}

TEST_F(SealedLabelsTest, TheMostConfidentMistakesComeFirst) {
  const ClassifyPlots plots = this->plots();
  if (world_.rank() != 0) {
    EXPECT_THAT(plots.mistakes, IsEmpty());  // only rank 0 reads texts
    return;
  }
  ASSERT_THAT(plots.mistakes, SizeIs(2));  // a row that was left out is not a mistake
  EXPECT_EQ(plots.mistakes[0].text, "b2");
  EXPECT_EQ(plots.mistakes[0].truth, "no");
  EXPECT_EQ(plots.mistakes[0].given, "yes");
  EXPECT_NEAR(plots.mistakes[0].confidence, 1.0 / (1.0 + std::exp(-8.0)), 1e-9);
  EXPECT_EQ(plots.mistakes[1].text, "c");
}

TEST_F(SealedLabelsTest, GroupsAreJudgedAlone) {
  const ClassifyPlots plots = this->plots();
  if (world_.rank() != 0) return;

  ASSERT_THAT(plots.groups, SizeIs(4));
  EXPECT_EQ(plots.groups[0].name, "ga");
  EXPECT_TRUE(plots.groups[0].is_fair);
  EXPECT_FALSE(plots.groups[0].false_negative.is_defined);
  const auto& two = plots.groups[1];
  EXPECT_EQ(two.name, "gb");
  EXPECT_EQ(two.rows, 2);
  EXPECT_EQ(two.accuracy.value, 0.5);
  EXPECT_LT(two.accuracy.low, 0.5);
  EXPECT_GT(two.accuracy.high, 0.5);
  EXPECT_EQ(two.false_positive.value, 1.0);
  EXPECT_EQ(two.false_negative.value, 0.0);
  EXPECT_FALSE(two.is_fair);
  EXPECT_EQ(plots.groups[3].name, "ge");
}

TEST_F(SealedLabelsTest, SmallTablesHaveTheSameNumbers) {
  const ClassifyPlots plots = this->plots();
  if (world_.rank() != 0) return;
  const auto tables = small_tables(plots);
  ASSERT_THAT(tables, SizeIs(4));

  const store::test::ChunkValues confusion(tables[0].spec, tables[0].rows);
  EXPECT_THAT(confusion.texts("label"), ElementsAre("no", "yes"));
  EXPECT_THAT(confusion.numbers<std::int64_t>("given"), ElementsAre(1, 1, 0, 1, 1, 1));
  const store::test::ChunkValues metrics(tables[1].spec, tables[1].rows);
  EXPECT_EQ(metrics.texts("name").front(), "accuracy");
  EXPECT_EQ(metrics.numbers<double>("value").front(), 0.4);
  EXPECT_THAT(metrics.numbers<std::int64_t>("is_defined"), testing::Each(1));
  const store::test::ChunkValues groups(tables[2].spec, tables[2].rows);
  EXPECT_THAT(groups.numbers<std::int64_t>("is_fair"), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(groups.numbers<double>("false_negative_rate"), ElementsAre(0, 0, 1, 1));
  const store::test::ChunkValues calibration(tables[3].spec, tables[3].rows);
  EXPECT_THAT(calibration.numbers<std::int64_t>("rows"), ElementsAre(1, 1, 2));
  EXPECT_THAT(calibration.numbers<double>("accuracy"), ElementsAre(0, 1, 0.5));
}

TEST_F(SealedLabelsTest, TheCsvHasALineForEachRow) {
  if (world_.rank() != 0) return;
  LatencyFile(folder_.path(), 1, 0).add(0, 2, 1.0);
  const auto lines = exported(results_);

  ASSERT_THAT(lines, SizeIs(8));
  EXPECT_EQ(lines[0],
            "strategy,input_text,true_label,predicted_label,response_time,rationale,"
            "target_group_norm,persona_tag,source_dataset,status");
  EXPECT_EQ(lines[1], "default,\"a,\"\"b\"\"\",no,no,0.500000,,ga,p,s,success");
  EXPECT_EQ(lines[3], "default,c,yes,no,,,gc,p,s,success");
  EXPECT_EQ(lines[4], "default,b2,no,yes,,,gb,p,s,cut");
  EXPECT_EQ(lines[5], "default,d,,no,,,gd,p,s,success");
  EXPECT_EQ(lines[6], "default,e,yes,error,,,ge,p,s,too long");
  EXPECT_EQ(lines[7], "default,f,,error,,,gf,p,s,error");
}

TEST_F(SealedLabelsTest, TheCsvOfFormat1HasTheWordsOfTheFile) {
  std::vector<store::SmallColumn> columns = {{"true", std::vector<std::int64_t>{0}, "a number"}};
  for (const char* name : {"strategy", "input_text", "true_label", "predicted_label", "rationale",
                           "target_group_norm", "persona_tag", "source_dataset", "status"})
    columns.push_back({name, std::vector<std::string>{std::string("my ") + name}, "a text"});
  store::SealRequest request;
  request.path = folder_.path() / "old.h5";
  request.small_tables = {store::make_small_table("samples", columns)};
  store::seal(world_, request);
  if (world_.rank() != 0) return;

  EXPECT_THAT(exported(request.path)[1],
              "my strategy,my input_text,my true_label,my predicted_label,,my rationale,"
              "my target_group_norm,my persona_tag,my source_dataset,my status");
}

TEST_F(SealedLabelsTest, ACsvNeedsTexts) {
  store::SealRequest request;
  request.path = folder_.path() / "numbers.h5";
  request.small_tables = {
      store::make_small_table("samples", {{"true", std::vector<std::int64_t>{0}, "a number"}})};
  store::seal(world_, request);
  if (world_.rank() != 0) return;

  EXPECT_EQ(test::report_of_failure([&] { exported(request.path); }).code, "E605");
}

}  // namespace
}  // namespace mgpu::jobs
