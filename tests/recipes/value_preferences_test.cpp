// Tests the preferences that recipe value draws with value.preference_beta.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include <mgpu/formats/json_value.hpp>

#include "recipes/value/preferences.hpp"

namespace mgpu::recipes {
namespace {

using formats::JsonValue;

JsonValue pair_row(int number, JsonValue score_chosen, JsonValue score_rejected) {
  return JsonValue::Members{{"prompt", "prompt " + std::to_string(number)},
                            {"chosen", "good"},
                            {"rejected", "bad"},
                            {"score_chosen", std::move(score_chosen)},
                            {"score_rejected", std::move(score_rejected)},
                            {"cut", 0}};
}

bool stays(const JsonValue& row, double beta, std::uint64_t seed = 0) {
  return draw_preference(row, beta, seed).get<std::string>("chosen") == "good";
}

TEST(ValuePreferencesTest, TheProbabilityIsThatOfBradleyAndTerry) {
  for (const double beta : {0.25, 1.0, 3.0})
    for (const double margin : {-2.0, 0.0, 0.5, 1.0}) {
      const long double better = std::exp(static_cast<long double>(beta) * (margin + 0.25L));
      const long double worse = std::exp(static_cast<long double>(beta) * 0.25L);
      EXPECT_NEAR(preference_probability(beta, margin + 0.25, 0.25),
                  static_cast<double>(better / (better + worse)), 1e-15);
    }
  EXPECT_EQ(preference_probability(1e6, 1.0, 0.0), 1.0);
  EXPECT_EQ(preference_probability(1e6, 0.0, 1.0), 0.0);
}

TEST(ValuePreferencesTest, TheShareOfPairsThatStayIsTheProbability) {
  constexpr int kPairs = 20000;
  for (const double beta : {0.5, 1.0, 2.0}) {
    int stayed = 0;
    for (int i = 0; i < kPairs; ++i)
      stayed += stays(pair_row(i, 1, 0.0), beta) ? 1 : 0;
    const double probability = 1.0 / (1.0 + std::exp(-beta));
    const double deviation = std::sqrt(probability * (1.0 - probability) / kPairs);
    EXPECT_NEAR(static_cast<double>(stayed) / kPairs, probability, 4.0 * deviation) << beta;
  }
}

TEST(ValuePreferencesTest, ADrawDependsOnSeedAndTextsAlone) {
  int different = 0;
  for (int i = 0; i < 100; ++i) {
    const JsonValue row = pair_row(i, 0.5, 0.5);
    EXPECT_EQ(stays(row, 1.0), stays(row, 1.0));
    EXPECT_EQ(stays(row, 1.0), stays(row, 7.0));  // equal scores: both mean a probability of 1/2
    different += stays(row, 1.0) == stays(row, 1.0, 1) ? 0 : 1;
  }
  EXPECT_GE(different, 30);
  EXPECT_LE(different, 70);
}

TEST(ValuePreferencesTest, CompletionsAreExchangedAndNothingElse) {
  const JsonValue row = draw_preference(pair_row(3, 0, 1), 1e6, 0);
  EXPECT_EQ(formats::to_json_line(row),
            R"({"prompt":"prompt 3","chosen":"bad","rejected":"good","score_chosen":0,)"
            R"("score_rejected":1,"cut":0})");
  const JsonValue kept = pair_row(3, "1", "0.5");  // numbers of a CSV file
  EXPECT_EQ(formats::to_json_line(draw_preference(kept, 1e6, 0)), formats::to_json_line(kept));
}

TEST(ValuePreferencesTest, AScoreThatIsNoNumberIsRefused) {
  const auto why = [](const JsonValue& row) {
    try {
      draw_preference(row, 1.0, 0);
    } catch (const formats::JsonError& error) {
      return error.why();
    }
    return std::string("it was used");
  };
  EXPECT_EQ(why(pair_row(0, "much", 0)), "its `score_chosen` is no number");
  EXPECT_EQ(why(pair_row(0, 1, std::nan(""))), "its `score_rejected` is no number");
}

}  // namespace
}  // namespace mgpu::recipes
