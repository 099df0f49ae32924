// Tests numbers of the page of job teacher, and its export padded-h5. Both are made from a sealed
// file.
#include <gmock/gmock.h>
#include <hdf5.h>

#include <gtest/gtest.h>

#include <mgpu/base/file_io.hpp>
#include <mgpu/formats/json_value.hpp>

#include "jobs/teacher/export.hpp"
#include "jobs/teacher/plots.hpp"
#include "sealed_targets.hpp"

namespace mgpu::jobs {
namespace {

using test::SealedTargets;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::vector<std::int32_t> kTokens = {3, 0, 2};  // number of tokens of each row

TeacherPlots plots_of(const SealedTargets& sealed) {
  TeacherPlots plots;
  plots.bytes_per_token = 12.0;
  add_targets(sealed.results(), sealed.inputs(), kTokens, plots);
  return plots;
}

TEST(ShownKsTest, PowersOfTwoAndWhatIsBetweenUpToAll) {
  EXPECT_THAT(shown_ks(1), ElementsAre(1));
  EXPECT_THAT(shown_ks(3), ElementsAre(1, 2, 3));
  EXPECT_THAT(shown_ks(8), ElementsAre(1, 2, 3, 4, 6, 8));
  EXPECT_THAT(shown_ks(10), ElementsAre(1, 2, 3, 4, 6, 8, 10));
}

TEST(TeacherPlotsTest, KeptMassIsTheMeanOverTheTokens) {
  const SealedTargets sealed;
  const TeacherPlots plots = plots_of(sealed);

  EXPECT_EQ(plots.mass.tokens_seen, 5);
  ASSERT_THAT(plots.mass.points, SizeIs(2));
  EXPECT_EQ(plots.mass.points[0].k, 1);
  EXPECT_NEAR(plots.mass.points[0].mean, 0.5, 1e-3);
  EXPECT_NEAR(plots.mass.points[1].mean, 0.75, 1e-3);
  EXPECT_NEAR(plots.mass.points[1].low, 0.75, 1e-3);
  EXPECT_EQ(plots.mass.points[1].bytes_fp16, 4 + 2 * 4 + 4 + 2 * 2);
  EXPECT_EQ(plots.mass.points[1].bytes_packed, 4 + 2 + 2 * 2);
  EXPECT_THAT(plots.drawn, IsEmpty());
  EXPECT_THAT(plots.entropy_of, HasSubstr("the 2 most probable tokens"));
}

TEST(TeacherPlotsTest, ATokenIsSeenByTheListOfTheOneBefore) {
  const TeacherPlots plots = plots_of(SealedTargets());

  ASSERT_THAT(plots.texts, SizeIs(2));  // a row without tokens is not shown
  const ShownText& text = plots.texts[0];
  EXPECT_EQ(text.row, 0);
  EXPECT_EQ(text.tokens, 3);
  ASSERT_THAT(text.shown, SizeIs(3));
  EXPECT_EQ(text.shown[0].text, "a");
  EXPECT_LT(text.shown[0].entropy, 0.0);  // no token precedes it
  EXPECT_EQ(text.shown[1].text, "b");
  EXPECT_NEAR(text.shown[1].entropy, 0.5 * std::log(2.0) + 2 * 0.25 * std::log(4.0), 1e-3);
  EXPECT_EQ(text.shown[1].place, 0);  // "b" was not in the list
  ASSERT_THAT(text.shown[1].best, SizeIs(2));
  EXPECT_EQ(text.shown[1].best[0].text, "k");  // id 10
  EXPECT_NEAR(text.shown[1].best[0].probability, 0.5, 1e-3);
  EXPECT_EQ(text.shown[2].best[1].text, "m");  // id 12
  EXPECT_NEAR(text.shown[1].rest, 0.25, 1e-3);
  EXPECT_FALSE(plots.texts[1].shown[0].is_learned);
}

TEST(TeacherPlotsTest, DrawsHaveWordsInsteadOfMass) {
  const TeacherPlots plots = plots_of(SealedTargets(test::draw_keys()));

  EXPECT_THAT(plots.mass.points, IsEmpty());
  EXPECT_THAT(plots.drawn, HasSubstr("3 draws at each token give 2.0 different tokens"));
  EXPECT_THAT(plots.drawn, HasSubstr("12 bytes per token"));
  EXPECT_NEAR(plots.texts[0].shown[1].best[0].probability, 2.0 / 3.0, 1e-6);
}

/// Reads a whole data set.
template <class T>
std::vector<T> read_all(const std::filesystem::path& path, const char* name, hid_t type,
                        std::vector<hsize_t>* shape = nullptr) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t data = H5Dopen2(file, name, H5P_DEFAULT);
  const hid_t space = H5Dget_space(data);
  std::vector<hsize_t> sizes(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, sizes.data(), nullptr);
  std::vector<T> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  EXPECT_GE(H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0) << name;
  H5Sclose(space);
  H5Dclose(data);
  H5Fclose(file);
  if (shape != nullptr) *shape = sizes;
  return values;
}

class PaddedTargetsTest : public testing::TestWithParam<const char*> {
protected:
  const SealedTargets sealed_{{{"teacher.store", GetParam()}}};
  const std::filesystem::path out_ = sealed_.results().parent_path() / "padded.h5";
};

INSTANTIATE_TEST_SUITE_P(Stores, PaddedTargetsTest, testing::Values("fp16", "packed"));

TEST_P(PaddedTargetsTest, SamplesAreRowsOfTheLongestOne) {
  EXPECT_EQ(export_padded_targets({sealed_.config(), sealed_.results(), out_}), 3);

  std::vector<hsize_t> shape;
  const auto ids = read_all<std::int32_t>(out_, "logits_indices", H5T_NATIVE_INT32, &shape);
  EXPECT_THAT(shape, ElementsAre(3, 3, 2));
  EXPECT_THAT(std::vector(ids.begin(), ids.begin() + 6), ElementsAre(10, 11, 11, 12, 12, 13));
  EXPECT_THAT(std::vector(ids.begin() + 12, ids.begin() + 16), ElementsAre(10, 11, 11, 12));
  EXPECT_THAT(read_all<std::int32_t>(out_, "seq_lengths", H5T_NATIVE_INT32), ElementsAre(3, 0, 2));
}

TEST_P(PaddedTargetsTest, LogitsAreLogProbsAndLogSum) {
  export_padded_targets({sealed_.config(), sealed_.results(), out_});
  const auto logits = read_all<float>(out_, "logits_values", H5T_NATIVE_FLOAT);

  EXPECT_NEAR(logits[0], std::log(0.5) + 1.0, 2e-3);
  EXPECT_NEAR(logits[3], std::log(0.25) + 2.0, 2e-3);
  EXPECT_NEAR(logits[12], std::log(0.5) + 1.0, 2e-3);  // first token of the third sample
}

TEST_P(PaddedTargetsTest, FactsLieBesideTheFile) {
  export_padded_targets({sealed_.config(), sealed_.results(), out_});
  const auto facts =
      formats::parse_json_object(read_file(sealed_.results().parent_path() / "metadata.json"));

  EXPECT_EQ(*facts.find("num_samples")->integer(), 3);
  EXPECT_EQ(*facts.find("max_seq_length")->integer(), 3);
  EXPECT_EQ(*facts.find("top_k")->integer(), 2);
  EXPECT_EQ(*facts.find("vocab_size")->integer(), rows::test::kVocab);
  EXPECT_EQ(*facts.find("teacher_model")->text(), sealed_.config().text("model.path"));
}

TEST(PaddedDrawsTest, DrawsHaveNoPlaceInIt) {
  const SealedTargets sealed(test::draw_keys());
  const auto out = sealed.results().parent_path() / "padded.h5";
  const ErrorReport report = test::report_of_failure([&] {
    export_padded_targets({sealed.config(), sealed.results(), out});
  });
  EXPECT_EQ(report.code, "E533");
  EXPECT_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace mgpu::jobs
