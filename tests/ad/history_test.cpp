#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/ad/history.hpp>
#include <mgpu/base/error.hpp>

namespace mgpu::ad {
namespace {

constexpr HistoryShape kShape{.streams = 3, .episodes = 2, .horizon = 20};

class HistorySetTest : public ::testing::Test {
protected:
  const std::unique_ptr<Environment> room_ = make_environment("darkroom", 0);
};

TEST_F(HistorySetTest, IdsCountStreamsWithinTasks) {
  const HistorySet part(*room_, kShape, 5, 3);

  EXPECT_EQ(part.first_id(), 5U);
  ASSERT_EQ(part.size(), 3U);
  EXPECT_EQ(std::vector<std::int32_t>(part.stream().begin(), part.stream().end()),
            (std::vector<std::int32_t>{2, 0, 1}));
  const auto train = room_->train_tasks();
  EXPECT_EQ(std::vector<std::int32_t>(part.task().begin(), part.task().end()),
            (std::vector<std::int32_t>{train[1], train[2], train[2]}));
}

TEST_F(HistorySetTest, AllHistoriesAreTasksTimesStreams) {
  const HistorySet all(*room_, kShape);

  EXPECT_EQ(all.size(), 73U * 3U);
  EXPECT_EQ(all.landing().size(), all.size() * 40U);
}

TEST_F(HistorySetTest, SlotsAreRowsOfTheColumns) {
  HistorySet part(*room_, kShape, 0, 2);

  part.slot(1).reward[7] = 9;

  EXPECT_EQ(part.reward()[40 + 7], 9);
  EXPECT_EQ(part[1].reward[7], 9);
  EXPECT_EQ(part[1].stream, 1);
}

TEST_F(HistorySetTest, RefusesIdsPastTheLastAndOtherHorizons) {
  EXPECT_NO_THROW(HistorySet(*room_, kShape, 219, 0));
  EXPECT_THROW(HistorySet(*room_, kShape, 218, 2), Error);
  EXPECT_THROW(HistorySet(*room_, kShape, 220, 0), Error);
  EXPECT_THROW(HistorySet(*room_, {.streams = 3, .episodes = 2, .horizon = 19}), Error);
  EXPECT_THROW(HistorySet(*room_, {.streams = 3, .episodes = 0, .horizon = 20}), Error);
}

TEST_F(HistorySetTest, TheCrcTellsApartEachColumnAndTheShape) {
  const std::uint32_t crc = crc_of(HistorySet(*room_, kShape, 0, 2));

  EXPECT_EQ(crc_of(HistorySet(*room_, kShape, 0, 2)), crc);
  EXPECT_NE(crc_of(HistorySet(*room_, kShape, 1, 2)), crc);
  EXPECT_NE(crc_of(HistorySet(*room_, {.streams = 3, .episodes = 1, .horizon = 20}, 0, 4)), crc);
  for (const auto column : {&HistorySlot::action, &HistorySlot::reward, &HistorySlot::landing}) {
    HistorySet other(*room_, kShape, 0, 2);
    (other.slot(1).*column)[39] = 1;
    EXPECT_NE(crc_of(other), crc);
  }
}

TEST_F(HistorySetTest, MeanReturnsAreByEpisode) {
  HistorySet two(*room_, kShape, 0, 2);
  two.slot(0).reward[0] = 1;
  two.slot(0).reward[19] = 1;
  two.slot(1).reward[20] = 1;

  EXPECT_EQ(mean_returns(two), (std::vector<double>{1.0, 0.5}));
}

/// Makes one history that stays at the start.
HistorySet idle(const Environment& environment) {
  HistorySet one(environment, kShape, 0, 1);
  for (std::size_t t = 0; t < one.action().size(); ++t) {
    one.action()[t] = 4;
    one.landing()[t] = static_cast<std::uint8_t>(environment.start_state());
  }
  return one;
}

TEST_F(HistorySetTest, CheckingAcceptsWhatWasPlayed) {
  HistorySet one = idle(*room_);
  one.action()[19] = 0;  // the last step of an episode; the next begins at the start again
  one.landing()[19] = static_cast<std::uint8_t>(room_->state_at({5, 4}));

  EXPECT_NO_THROW(check_histories(*room_, one));
}

TEST_F(HistorySetTest, CheckingNamesTheFirstStepThatIsWrong) {
  HistorySet action = idle(*room_);
  HistorySet reward = idle(*room_);
  HistorySet landing = idle(*room_);
  action.action()[3] = 5;
  reward.reward()[4] = 1;
  landing.landing()[5] = 0;

  for (const auto& [set, step] : {std::pair{&action, "step 3 "}, std::pair{&reward, "step 4 "},
                                  std::pair{&landing, "step 5 "}}) {
    try {
      check_histories(*room_, *set);
      ADD_FAILURE() << "accepted, " << step;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.report().code, "E521");
      EXPECT_EQ(failure.exit_code(), ExitCode::data);
      EXPECT_NE(failure.report().sentence.find(step), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace mgpu::ad
