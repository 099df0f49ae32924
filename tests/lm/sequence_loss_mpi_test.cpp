// Compares losses of groups whose members are on several ranks with those on one rank.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/training/mean_loss.hpp>

#include "example_losses.hpp"
#include "train_steps.hpp"

namespace mgpu::lm {
namespace {

TEST(SequenceLossMpiTest, GroupsOverRanksGiveTheBitsOfOneRank) {
  const LmExamples examples = grouped_examples(40, 4, kVocab);

  const Trained together = train(world(), GroupLoss(), examples, {}, lanes_of(6));
  const Trained apart = train(alone(), GroupLoss(), examples, {}, lanes_of(6));

  expect_equal(together, apart);
  EXPECT_FALSE(at::equal(together.weights, dense_model({}, kVocab).parameters().weights()));
}

TEST(SequenceLossMpiTest, PairsOverRanksGiveTheBitsOfOneRank) {
  const LmExamples examples = grouped_examples(16, 2, kVocab);

  expect_equal(train(world(), DpoLoss(0.3), examples, {}, lanes_of(3)),
               train(alone(), DpoLoss(0.3), examples, {}, lanes_of(3)));
}

TEST(SequenceLossMpiTest, AHeadOfItsOwnIsTrainedTogether) {
  const LmExamples examples = grouped_examples(16, 2, kVocab);
  const TrainingOptions options{.head = ModelHead{.replaces_vocabulary = true}};

  const Trained together = train(world(), PairLoss(), examples, options, lanes_of(3));

  expect_equal(together, train(alone(), PairLoss(), examples, options, lanes_of(3)));
  EXPECT_FALSE(at::equal(together.weights, dense_model(options, kVocab).parameters().weights()));
}

/// Returns the mean loss of a model over the windows of `examples`.
MeanLoss measured(const cluster::Group& group, const TokenLoss& loss, const LmExamples& examples,
                  const TrainingOptions& options = {}) {
  const LmWindows windows(examples, 16, 5);
  return mean_loss(group, dense_model(options, kVocab), HeldOutItems(windows), loss);
}

TEST(SequenceLossMpiTest, MeansOverHeldOutSequencesHaveTheBitsOfOneRank) {
  const LmExamples examples = grouped_examples(18, 2, kVocab);
  const TrainingOptions headed{.head = ModelHead{.replaces_vocabulary = true}};

  const MeanLoss pairs = measured(world(), PairLoss(), examples, headed);
  const MeanLoss alone_pairs = measured(alone(), PairLoss(), examples, headed);
  const MeanLoss tokens = measured(world(), CrossEntropy(), examples);

  EXPECT_EQ(pairs.loss, alone_pairs.loss);
  EXPECT_EQ(pairs.accuracy, alone_pairs.accuracy);
  EXPECT_EQ(tokens.loss, measured(alone(), CrossEntropy(), examples).loss);
}

TEST(SequenceLossMpiTest, MeansOverHeldOutSequencesHaveTheDigestOfAll) {
  const LmExamples examples = grouped_examples(20, 4, kVocab);
  double sum = 0.0;
  for (const double reward : examples.sequence_columns.at("reward"))
    sum += reward;

  const MeanLoss groups = measured(world(), GroupLoss(), examples);

  ASSERT_EQ(groups.digest.size(), 1U);
  EXPECT_DOUBLE_EQ(groups.digest[0], sum / 20.0);
  EXPECT_TRUE(measured(world(), CrossEntropy(), examples).digest.empty());
}

TEST(SequenceLossMpiTest, MeansOverHeldOutPairsAreMeansOverTheirTerms) {
  const LmExamples examples = grouped_examples(18, 2, kVocab);
  const TrainingOptions headed{.head = ModelHead{.replaces_vocabulary = true}};
  const TrainableModel model = dense_model(headed, kVocab);
  const LmWindows windows(examples, 16, 5);
  double loss = 0.0;
  double right = 0.0;
  for (std::size_t pair = 0; pair < 9; ++pair) {
    LmBatch batch;
    windows.append(2 * pair, batch);
    windows.append(2 * pair + 1, batch);
    const std::vector<double> values = model.measure(batch, PairLoss().request()).head;
    loss += std::log1p(std::exp(values[1] - values[0])) / 9.0;
    right += values[0] > values[1] ? 1.0 / 9.0 : 0.0;
  }

  const MeanLoss mean = measured(world(), PairLoss(), examples, headed);

  EXPECT_NEAR(mean.loss, loss, 1e-6);
  EXPECT_NEAR(mean.accuracy, right, 1e-12);
}

TEST(SequenceLossMpiTest, PlainSumsOverRanksComeNear) {
  const LmExamples examples = grouped_examples(16, 4, kVocab);
  const train::BatchShape shape{8, 3, 1, 1, false};

  const Trained together = train(world(), GroupLoss(), examples, {}, shape);
  const Trained apart = train(alone(), GroupLoss(), examples, {}, shape);

  for (std::size_t step = 0; step < 3; ++step)
    EXPECT_NEAR(together.losses[step], apart.losses[step], 1e-5);
}

/// Groups of 4 sequences. Each sequence depends only on its number, and exists only after make().
class MadeItems final : public LmItems {
public:
  std::uint64_t epoch_size() const override { return 1000; }
  bool are_made() const override { return true; }
  std::int64_t group_size() const override { return 4; }

  void make(const TrainableModel& /*model*/, std::uint64_t first, std::int64_t count) override {
    texts_.clear();
    for (std::uint64_t item = first; item < first + static_cast<std::uint64_t>(count); ++item)
      for (std::uint64_t i = 0; i < 4 + item % 5; ++i)
        texts_[item].push_back(static_cast<std::int64_t>((item * 31 + i * i * 7) % kVocab));
  }

  std::int64_t predictions(std::uint64_t ordinal) const override {
    return std::ssize(texts_.at(ordinal)) - 1;
  }

  void append(std::uint64_t ordinal, LmBatch& batch) const override {
    const std::vector<std::int64_t>& ids = texts_.at(ordinal);
    batch.spans.push_back({ids});
    batch.targets.insert(batch.targets.end(), ids.begin() + 1, ids.end());
    batch.targets.push_back(kernels::kIgnoreTarget);
    batch.groups.push_back(ordinal / 4);
    batch.sequence_columns["reward"].push_back(static_cast<double>(ordinal * 3 % 5));
    batch.token_columns["old"].resize(batch.targets.size(), -4.5);
  }

private:
  std::map<std::uint64_t, std::vector<std::int64_t>> texts_;
};

TEST(SequenceLossMpiTest, ItemsThatRanksMakeThemselvesGiveTheBitsOfOneRank) {
  MadeItems shared;
  MadeItems own;

  expect_equal(train(world(), GroupLoss(), shared, {}, lanes_of(6)),
               train(alone(), GroupLoss(), own, {}, lanes_of(6)));
}

/// Simulates a device that measures one sequence wrongly, once.
class FaultyLoss final : public SequenceLoss {
public:
  std::vector<double> facts(const MeasuredSequence& sequence) const override {
    const bool is_faulty = measured_++ == 1 && world().rank() == world().size() - 1;
    return {is_faulty ? std::nan("") : right_.facts(sequence).front()};
  }
  SequenceTerm weigh(const MeasuredSequence& sequence, const SequencePlace& place) const override {
    return right_.weigh(sequence, place);
  }
  std::int64_t terms(const SequenceTable& all) const override { return right_.terms(all); }

private:
  DpoLoss right_{0.3};
  mutable int measured_ = 0;
};

TEST(SequenceLossMpiTest, AStepThatIsComputedAgainIsMeasuredAgain) {
  const LmExamples examples = grouped_examples(16, 2, kVocab);

  const Trained faulty = train(world(), FaultyLoss(), examples, {}, lanes_of(3));

  EXPECT_EQ(faulty.repeated, 1);
  expect_equal(faulty, train(world(), DpoLoss(0.3), examples, {}, lanes_of(3)));
}

TEST(SequenceLossMpiTest, ALossThatFailsOnOneRankEndsTheStepOnAll) {
  class Failing final : public SequenceLoss {
    SequenceTerm weigh(const MeasuredSequence&, const SequencePlace&) const override { return {}; }
    std::vector<double> facts(const MeasuredSequence&) const override {
      if (world().rank() == world().size() - 1) throw ShapeError("not this one");
      return {};
    }
  };

  try {
    train(world(), Failing(), grouped_examples(16, 2, kVocab), {}, lanes_of(3));
    FAIL() << "nothing was thrown";
  } catch (const cluster::CollectiveFailure& error) {
    EXPECT_EQ(error.first_rank(), world().size() - 1);
    EXPECT_THAT(error.what(), testing::HasSubstr("not this one"));
  }
}

}  // namespace
}  // namespace mgpu::lm
