#include <cstdlib>
#include <ctime>
#include <numeric>
#include <sstream>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include <mgpu/app/look_first.hpp>

namespace mgpu::app {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

std::string plan(const std::string& detail, const std::vector<Override>& overrides) {
  Options options;
  options.action = Action::plan;
  options.detail = detail;
  options.config = std::string(MGPU_SOURCE_DIR) + "/conf/quickstart.yaml";
  options.overrides = overrides;
  std::ostringstream out;
  EXPECT_EQ(print_plan(options, FileProvider::alone(), out), ExitCode::done);
  return out.str();
}

TEST(PrintPlanTest, SaysWhoDoesWhatAndWhatItTakesWithinASecond) {
  const std::clock_t begin = std::clock();  // CPU time: other programs do not count
  const std::string text = plan("text", {{"devices.backend", "mpi"}, {"devices.world", "2"}});
  const std::clock_t elapsed = std::clock() - begin;

  EXPECT_THAT(text, HasSubstr("plan for quickstart on 2 CPU ranks"));
  EXPECT_THAT(text, HasSubstr("ids 0 .. 2,207  (2,208)"));  // 69 of 137 chunks of histories
  EXPECT_THAT(text, HasSubstr("ids 16 .. 31  (16)"));       // the second half of a batch of 32
  EXPECT_THAT(text, HasSubstr("memory of the fullest rank"));
  EXPECT_THAT(text, HasSubstr("guess: "));
  EXPECT_THAT(text, HasSubstr("free disk"));
  EXPECT_LT(elapsed, CLOCKS_PER_SEC);
}

TEST(PrintPlanTest, SharesOfAnyNumberOfRanksCoverAllIds) {
  for (const int ranks : {1, 2, 4}) {
    const Json json = Json::parse(
        plan("json", {{"devices.backend", "mpi"}, {"devices.world", std::to_string(ranks)}}));

    std::map<std::string, std::int64_t> next;
    for (const Json& share : json.at("shares")) {
      std::int64_t& first = next[share.at("where")];
      EXPECT_EQ(share.at("first"), first) << share;
      first += share.at("count").get<std::int64_t>();
    }
    EXPECT_EQ(next["histories"], 73 * 60);
    EXPECT_EQ(next["batch"], 32);
    EXPECT_EQ(next["evaluation"], 3 * 8 * 32);
  }
}

TEST(PrintPlanTest, RulesBetweenKeysAndRanksAreChecked) {
  try {
    plan("text", {{"devices.backend", "mpi"}, {"devices.world", "3"}});
    FAIL() << "three ranks share four lanes";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E122");
  }
}

TEST(PrintPlanTest, OnlyTheFirstRankOfALaunchPrints) {
  ::setenv("OMPI_COMM_WORLD_RANK", "1", 1);
  const std::string later = plan("text", {{"devices.backend", "mpi"}});
  ::setenv("OMPI_COMM_WORLD_RANK", "0", 1);
  ::setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
  const std::string first = plan("text", {{"devices.backend", "mpi"}});
  ::unsetenv("OMPI_COMM_WORLD_RANK");
  ::unsetenv("OMPI_COMM_WORLD_SIZE");

  EXPECT_EQ(later, "");
  EXPECT_THAT(first, HasSubstr("on 4 CPU ranks"));
}

}  // namespace
}  // namespace mgpu::app
