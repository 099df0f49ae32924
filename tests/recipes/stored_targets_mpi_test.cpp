// Tests how a student reads the targets of a sealed run of job teacher.
#include <cmath>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/kernels/cross_entropy.hpp>

#include "jobs/sealed_targets.hpp"
#include "recipes/distill/stored_targets.hpp"
#include "store/results/list_place.hpp"

namespace mgpu::recipes {
namespace {

using jobs::test::draw_keys;
using jobs::test::SealedTargets;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing_support::Keys;
using testing_support::report_of_failure;

constexpr std::int64_t kIgnored = kernels::kIgnoreTarget;

DistillSettings settings_of(const SealedTargets& sealed) {
  DistillSettings settings;
  settings.targets = sealed.results();
  return settings;
}

/// Returns the teacher's lists for an example that begins at `place`, a token of a stored row.
lm::TeacherTargets read(const DistillSettings& settings, StoredPlace place,
                        const std::vector<std::int64_t>& targets) {
  StoredTargets stored(settings);
  stored.set_places({place});
  lm::TeacherTargets lists;
  stored.append(0, targets, lists);
  return lists;
}

std::vector<float> probabilities(const lm::TeacherTargets& lists) {
  std::vector<float> probabilities;
  for (const float log_prob : lists.log_probs)
    probabilities.push_back(std::exp(log_prob));
  return probabilities;
}

TEST(StoredExamplesTest, ARowInWhichNothingIsLearnedIsNoExample) {
  const SealedTargets sealed;
  const StoredExamples stored = StoredTargets(settings_of(sealed)).read_examples(8);

  EXPECT_EQ(stored.examples.size(), 2U);
  EXPECT_EQ(stored.rows_without, 1);
  EXPECT_THAT(stored.examples.ids, ElementsAre(0, 1, 2, 4, 5));
  EXPECT_THAT(stored.examples.is_learned, ElementsAre(1, 1, 1, 0, 1));
  EXPECT_THAT(stored.examples.ends, ElementsAre(3, 5));
  EXPECT_EQ(stored.places[1].row, 2);
  EXPECT_EQ(stored.places[1].first, 0);
}

TEST(StoredExamplesTest, ALongerTextIsCutAndItsPiecesShareAToken) {
  const SealedTargets sealed;
  const StoredExamples stored = StoredTargets(settings_of(sealed)).read_examples(2);

  EXPECT_THAT(stored.examples.ids, ElementsAre(0, 1, 1, 2, 4, 5));
  EXPECT_THAT(stored.examples.ends, ElementsAre(2, 4, 6));
  EXPECT_EQ(stored.places[1].row, 0);
  EXPECT_EQ(stored.places[1].first, 1);
}

/// Tests files whose ids have 4 bytes, and files whose ids are packed.
class StoredTopKTest : public testing::TestWithParam<const char*> {
protected:
  const SealedTargets sealed_{{{"teacher.store", GetParam()}}};
  DistillSettings settings_ = settings_of(sealed_);
};

INSTANTIATE_TEST_SUITE_P(Stores, StoredTopKTest, testing::Values("fp16", "packed"));

TEST_P(StoredTopKTest, FactsAreThoseOfTheTeacher) {
  const TeacherFacts facts = StoredTargets(settings_).facts();
  EXPECT_EQ(facts.vocab, 64);
  EXPECT_EQ(facts.top_k, 2);
  EXPECT_EQ(facts.num_draws, 0);
  EXPECT_EQ(facts.temperature, 1.0);
}

TEST_P(StoredTopKTest, ListsHaveTheirTailAndAddUpToOne) {
  const lm::TeacherTargets lists = read(settings_, {0, 0}, {1, 2});

  EXPECT_THAT(lists.ids, ElementsAre(10, 11, 11, 12));
  EXPECT_THAT(lists.ends, ElementsAre(2, 4));
  EXPECT_THAT(lists.tail_mass, ElementsAre(FloatNear(0.25F, 1e-3F), FloatNear(0.25F, 1e-3F)));
  EXPECT_THAT(probabilities(lists),
              testing::Pointwise(FloatNear(1e-3F), {0.5F, 0.25F, 0.5F, 0.25F}));
}

TEST_P(StoredTopKTest, ATokenThatIsNotLearnedHasAnEmptyList) {
  const lm::TeacherTargets lists = read(settings_, {0, 0}, {kIgnored, 2});

  EXPECT_THAT(lists.ends, ElementsAre(0, 2));
  EXPECT_THAT(lists.ids, ElementsAre(11, 12));
  EXPECT_EQ(lists.tail_mass[0], 0.0F);
}

TEST_P(StoredTopKTest, APlaceIsATokenOfItsRow) {
  EXPECT_THAT(read(settings_, {0, 2}, {0}).ids, ElementsAre(12, 13));
  EXPECT_THAT(read(settings_, {2, 1}, {0}).ids, ElementsAre(11, 12));
}

TEST_P(StoredTopKTest, WithoutABucketTheListIsScaledToOne) {
  settings_.has_bucket = false;
  const lm::TeacherTargets lists = read(settings_, {0, 0}, {1});

  EXPECT_EQ(lists.tail_mass[0], 0.0F);
  EXPECT_THAT(probabilities(lists),
              ElementsAre(FloatNear(2.0F / 3.0F, 1e-3F), FloatNear(1.0F / 3.0F, 1e-3F)));
}

TEST_P(StoredTopKTest, AnotherTemperatureNeedsAListWithoutTail) {
  settings_.how.temperature = 2.0;
  EXPECT_EQ(report_of_failure([&] { StoredTargets{settings_}; }).code, "E124");
  settings_.has_bucket = false;
  const auto list = probabilities(read(settings_, {0, 0}, {1}));
  const double roots = std::sqrt(0.5) + std::sqrt(0.25);
  EXPECT_NEAR(list[0], std::sqrt(0.5) / roots, 1e-3);
}

TEST_P(StoredTopKTest, TheBytesHaveANumber) {
  const std::uint32_t crc = StoredTargets(settings_).check_bytes();
  EXPECT_EQ(StoredTargets(settings_).check_bytes(), crc);
  const SealedTargets draws(draw_keys());
  EXPECT_NE(StoredTargets(settings_of(draws)).check_bytes(), crc);
}

class StoredDrawsTest : public testing::TestWithParam<const char*> {
protected:
  static Keys keys() {
    Keys keys = draw_keys();
    keys["teacher.store"] = GetParam();
    return keys;
  }

  const SealedTargets sealed_{keys()};
  DistillSettings settings_ = settings_of(sealed_);
};

INSTANTIATE_TEST_SUITE_P(Stores, StoredDrawsTest, testing::Values("fp16", "packed"));

TEST_P(StoredDrawsTest, ProbabilitiesAreSharesOfTheDraws) {
  const lm::TeacherTargets lists = read(settings_, {0, 0}, {1, 2});

  EXPECT_THAT(lists.ids, ElementsAre(10, 11, 11, 12));
  EXPECT_THAT(probabilities(lists),
              testing::Pointwise(FloatNear(1e-6F), {2 / 3.0F, 1 / 3.0F, 2 / 3.0F, 1 / 3.0F}));
  EXPECT_THAT(lists.tail_mass, ElementsAre(0.0F, 0.0F));
}

TEST_P(StoredDrawsTest, DrawsOfTokensBeforeThePlaceAreSkipped) {
  EXPECT_THAT(read(settings_, {0, 2}, {0}).ids, ElementsAre(12, 13));
  EXPECT_THAT(read(settings_, {2, 0}, {kIgnored, 0}).ids, ElementsAre(11, 12));
}

TEST_P(StoredDrawsTest, AreForOneLossOnly) {
  EXPECT_EQ(stored_distillation(settings_, StoredTargets(settings_).facts()).divergence,
            lm::Divergence::cross_entropy);
  settings_.how.divergence = lm::Divergence::jsd;
  EXPECT_EQ(report_of_failure([&] { StoredTargets{settings_}; }).code, "E124");
  settings_.how.divergence = lm::Divergence::forward_kl;
  settings_.has_bucket = false;
  EXPECT_EQ(report_of_failure([&] { StoredTargets{settings_}; }).code, "E124");
}

/// Changes the last number of a list column, like a flipped bit in the file. Subtracts 1 if the
/// column is `is_learned`, and adds 1 << 20 otherwise. If `has_checksum` is false, also deletes the
/// checksum, which files of other programs do not have.
void damage(const std::filesystem::path& path, const std::string& column,
            bool has_checksum = true) {
  const store::hdf5::Hid file = store::hdf5::own(H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
  const std::string place = store::find_lists(file.get(), "samples", column) + "/values";
  const store::hdf5::Hid dataset =
      store::hdf5::own(H5Dopen2(file.get(), place.c_str(), H5P_DEFAULT));
  const store::hdf5::Hid space = store::hdf5::own(H5Dget_space(dataset.get()));
  std::vector<std::int64_t> items(
      static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())));
  H5Dread(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, items.data());
  items.back() += column == "is_learned" ? -1 : 1 << 20;
  H5Dwrite(dataset.get(), H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, items.data());
  if (!has_checksum) H5Adelete(dataset.get(), "crc32c");
}

class DamagedColumnTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Columns, DamagedColumnTest, testing::Values("token_ids", "is_learned"));

TEST_P(DamagedColumnTest, IsFoundByItsChecksum) {
  const SealedTargets sealed;
  StoredTargets(settings_of(sealed)).check_bytes();
  damage(sealed.results(), GetParam());
  EXPECT_EQ(report_of_failure([&] { StoredTargets(settings_of(sealed)).check_bytes(); }).exit,
            ExitCode::corrupt);
}

TEST(StoredTargetsTest, ATokenOutsideTheVocabularyIsBadInput) {
  const SealedTargets sealed;
  damage(sealed.results(), "token_ids", false);
  damage(sealed.results(), "topk_ids", false);
  const ErrorReport token = report_of_failure(
      [&] { static_cast<void>(StoredTargets(settings_of(sealed)).read_examples(8)); });
  EXPECT_EQ(token.exit, ExitCode::data);
  EXPECT_THAT(token.sentence, HasSubstr("row 2 has token 1048581 in a vocabulary of 64"));
  const ErrorReport listed = report_of_failure([&] { read(settings_of(sealed), {2, 0}, {0, 0}); });
  EXPECT_EQ(listed.exit, ExitCode::data);
}

// Expects that the targets fit a student with a vocabulary of 14 tokens, but not one with 13. The
// vocabularies of a teacher and its student may have different numbers of unused ids.
void expect_ids_below_14(const DistillSettings& settings) {
  const StoredTargets targets(settings);
  targets.require_ids_below(64);
  targets.require_ids_below(14);
  const ErrorReport report = report_of_failure([&] { targets.require_ids_below(13); });
  EXPECT_EQ(report.exit, ExitCode::data);
  EXPECT_THAT(report.sentence,
              HasSubstr("row 0 has token 13, and the student's vocabulary has 13"));
}

TEST_P(StoredTopKTest, AVocabularyThatHasAllIdsIsAccepted) {
  expect_ids_below_14(settings_);
}

TEST_P(StoredDrawsTest, AVocabularyThatHasAllIdsIsAccepted) {
  expect_ids_below_14(settings_);
}

/// Writes a results file with a table `samples` that has no columns of job teacher. The attributes
/// of group /teacher are `facts`. Returns the message with which StoredTargets refuses the file.
ErrorReport refusal_of(const std::vector<store::Attribute>& facts) {
  const SealedTargets sealed;
  const auto folder = sealed.results().parent_path() / "other";
  const auto path = store::test::seal_table(
      cluster::Group::world(), folder,
      {"samples", 1, {{"x", store::ColumnType::u8, 1, "", ""}}, "", ""},
      [] {
        const store::TableSpec spec{
            "samples", 1, {{"x", store::ColumnType::u8, 1, "", ""}}, "", ""};
        store::ChunkEncoder encoder(spec, 0, 1);
        encoder.column<std::uint8_t>("x", std::vector<std::uint8_t>{1});
        return encoder.finish();
      }(),
      {{"teacher", facts}});
  DistillSettings settings;
  settings.targets = path;
  return report_of_failure([&] { StoredTargets{settings}; });
}

TEST(StoredTargetsTest, AFileOfAnotherJobIsRefused) {
  const ErrorReport report = refusal_of({{"vocab_size", std::int64_t{64}}});
  EXPECT_EQ(report.code, "E605");
  EXPECT_EQ(report.exit, ExitCode::data);
  EXPECT_THAT(report.sentence, HasSubstr("its group /teacher has no top_k"));
}

TEST(StoredTargetsTest, BitsOfAnIdThatDoNotFitTheVocabularyAreRefused) {
  const ErrorReport report = refusal_of({{"vocab_size", std::int64_t{64}},
                                         {"top_k", std::int64_t{2}},
                                         {"num_draws", std::int64_t{0}},
                                         {"id_bits", std::int64_t{40}},
                                         {"temperature", 1.0}});
  EXPECT_EQ(report.code, "E605");
  EXPECT_THAT(report.sentence, HasSubstr("a vocabulary of 64 needs 6"));
}

}  // namespace
}  // namespace mgpu::recipes
