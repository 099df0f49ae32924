// Compares the outputs of sequence classifiers with those of transformers.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <support/temporary_folder.hpp>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/forward/sequence_scorer.hpp>

#include "golden_folder.hpp"
#include "support/project_folder.hpp"

namespace mgpu::lm {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

using Sequences = std::vector<std::vector<std::int64_t>>;

const fs::path kGoldens = testing_support::project_folder() / "tests/lm/classifier_goldens";

/// Returns the sequences of a golden file without the padding that makes them one length.
Sequences sequences_of_goldens(const formats::SafetensorsFile& file) {
  const auto lengths = values_of<std::int64_t>(*file.find("lengths"));
  const auto ids = values_of<std::int64_t>(*file.find("ids"));
  const auto width = static_cast<std::ptrdiff_t>(ids.size() / lengths.size());
  Sequences sequences;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(s) * width;
    sequences.emplace_back(begin, begin + lengths[s]);
  }
  return sequences;
}

class SequenceScorerTest : public testing::TestWithParam<const char*> {};

TEST_P(SequenceScorerTest, GivesTheRewardsOfTransformers) {
  const formats::SafetensorsFile file(kGoldens / GetParam() / "golden.safetensors");
  const Sequences sequences = sequences_of_goldens(file);

  const auto scores = SequenceScorer::open(kGoldens / GetParam()).score(sequences);

  EXPECT_THAT(scores, Pointwise(DoubleNear(5e-5), values_of<double>(*file.find("rewards"))));
}

TEST_P(SequenceScorerTest, TheBitsOfAScoreDoNotDependOnTheOtherSequences) {
  const formats::SafetensorsFile file(kGoldens / GetParam() / "golden.safetensors");
  const Sequences sequences = sequences_of_goldens(file);
  const SequenceScorer scorer = SequenceScorer::open(kGoldens / GetParam());
  Sequences many;
  for (int copy = 0; copy < 40; ++copy)  // more than one pass
    many.insert(many.end(), sequences.begin(), sequences.end());

  const std::vector<double> together = scorer.score(many);

  for (std::size_t s = 0; s < many.size(); ++s)
    EXPECT_EQ(together[s], scorer.score(Sequences{many[s]}).front()) << s;
}

INSTANTIATE_TEST_SUITE_P(All, SequenceScorerTest,
                         testing::Values("gpt2", "llama", "llama_tied", "mistral",
                                         "mistral_no_padding", "qwen2", "qwen3"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(SequenceScorerFolderTest, FactsAreKnownWithoutTheWeights) {
  const ScorerFacts facts = read_scorer_facts(kGoldens / "llama");
  EXPECT_EQ(facts.outputs, 1);
  EXPECT_EQ(facts.pad_id, 2);
  EXPECT_TRUE(has_sequence_classifier(facts.config));
  EXPECT_EQ(read_scorer_facts(kGoldens / "mistral_no_padding").pad_id, std::nullopt);
  EXPECT_EQ(read_scorer_facts(testing_support::lm_goldens() / "llama").outputs, std::nullopt);
  EXPECT_FALSE(has_sequence_classifier(read_lm_config(testing_support::lm_goldens() / "gpt_oss")));
}

TEST(SequenceScorerFolderTest, AFolderWithoutTheHeadIsRefused) {
  try {
    SequenceScorer::open(testing_support::lm_goldens() / "qwen2");
    FAIL() << "no error";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E705");
    EXPECT_THAT(failure.report().lines, testing::Contains(HasSubstr("missing: score.weight")));
  }
}

TEST(SequenceScorerFolderTest, SequencesThatTheModelCannotReadAreRefused) {
  const SequenceScorer scorer = SequenceScorer::open(kGoldens / "gpt2");
  EXPECT_THROW(scorer.score(Sequences{{}}), ShapeError);
  EXPECT_THROW(scorer.score(Sequences{{67}}), ShapeError);
  EXPECT_THROW(scorer.score(Sequences{std::vector<std::int64_t>(49, 1)}), ShapeError);
  EXPECT_TRUE(scorer.score(Sequences{}).empty());
}

}  // namespace
}  // namespace mgpu::lm
