// Tests the defaults of recipe grpo that depend on grpo.variant.
#include <gtest/gtest.h>

#include "recipes/grpo/keys.hpp"
#include "support/made_config.hpp"

namespace mgpu::recipes {
namespace {

using testing_support::config_of;
using testing_support::Keys;

GrpoSettings settings_of(Keys keys) {
  keys.insert({{"job", "train"},
               {"train.recipe", "grpo"},
               {"model.path", "m"},
               {"data.path", "d.jsonl"},
               {"reward.functions", "[match]"}});
  return read_grpo_settings(config_of(keys));
}

struct Case {
  const char* variant;
  double low;
  double high;
  RewardScale scale;
};

TEST(GrpoKeysTest, ClippingAndScalesAreThoseOfThePapers) {
  for (const Case& expected :
       {Case{"grpo", 0.2, 0.2, RewardScale::group}, Case{"dr_grpo", 0.2, 0.2, RewardScale::none},
        Case{"dapo", 0.2, 0.28, RewardScale::group}, Case{"bnpo", 0.2, 0.2, RewardScale::group},
        Case{"cispo", 0.2, 5.0, RewardScale::group},
        Case{"gspo", 3e-4, 4e-4, RewardScale::group}}) {
    const GrpoSettings settings = settings_of({{"grpo.variant", expected.variant}});
    EXPECT_EQ(settings.clip.low, expected.low) << expected.variant;
    EXPECT_EQ(settings.clip.high, expected.high) << expected.variant;
    EXPECT_EQ(settings.scale, expected.scale) << expected.variant;
  }
}

TEST(GrpoKeysTest, TheUpperRangeFollowsTheLowerOneUnlessAPaperHasAnother) {
  const auto high = [](const char* variant) {
    return settings_of({{"grpo.variant", variant}, {"grpo.clip_low", "0.1"}}).clip.high;
  };
  EXPECT_EQ(high("grpo"), 0.1);
  EXPECT_EQ(high("gspo"), 0.1);
  EXPECT_EQ(high("dapo"), 0.28);
  EXPECT_EQ(high("cispo"), 5.0);
}

}  // namespace
}  // namespace mgpu::recipes
