#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/config/check_all.hpp>
#include <mgpu/config/config_reader.hpp>

#include "config_test_table.hpp"

namespace mgpu {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// Reads a file and checks two rules: the batch consists of full micro batches, and a run of at
/// least 100 steps has no cache.
class ConfigRulesTest : public testing::Test {
protected:
  Config read(const std::string& text) {
    ConfigSources sources;
    sources.file = "run.yaml";
    sources.working_directory = "/";
    sources.read = [&](const std::filesystem::path&) { return text; };
    sources.rules = [&](const Config& config) {
      ++calls_;
      check_all({[&] { check_passes(config); }, [&] { check_cache(config); }});
    };
    return read_config(table_, sources);
  }

  std::string refusal(const std::string& text) {
    try {
      read(text);
    } catch (const Failure& failure) {
      return render(failure.report());
    }
    return "";
  }

  int calls_ = 0;

private:
  static void check_passes(const Config& config) {
    if (config.integer("train.global_batch_size") % config.integer("train.micro_batch_size") == 0)
      return;
    throw config.problem("E122", "train.micro_batch_size", "passes do not divide the batch");
  }

  static void check_cache(const Config& config) {
    if (config.integer("train.max_steps") < 100 || config.bytes("devices.cache") == 0) return;
    throw config.problem("E124", "devices.cache", "a long run keeps no cache");
  }

  KeyTable table_ = config_test_table();
};

const std::string kBatch = "train:\n  global_batch_size: 8\n  micro_batch_size: 3\n";
const std::string kHead = "schema: 1\njob: train\n";

TEST_F(ConfigRulesTest, AreNotAskedOfRightValues) {
  EXPECT_NO_THROW(read(kHead + kBatch + "  max_steps: 5\n"));
  EXPECT_EQ(calls_, 0);
}

TEST_F(ConfigRulesTest, SpeakBesideWrongValuesThatTheyDoNotNeed) {
  const std::string text = refusal(kHead + kBatch + "  max_steps: five\n");

  EXPECT_THAT(text, AllOf(HasSubstr("error[E104]"), HasSubstr("error[E122]"),
                          HasSubstr("2 errors; nothing was started.")));
  EXPECT_THAT(text, Not(HasSubstr("E124"))) << "max_steps is not known";
}

TEST_F(ConfigRulesTest, AllSpeakBesideAWrongValueOfNoneOfThem) {
  EXPECT_THAT(refusal(kHead + "run: {name: [1]}\n" + kBatch),
              AllOf(HasSubstr("error[E104]"), HasSubstr("error[E122]"), HasSubstr("error[E124]"),
                    HasSubstr("3 errors; nothing was started.")));
}

TEST_F(ConfigRulesTest, AreSilentAboutKeysThatWereMeant) {
  EXPECT_THAT(refusal(kHead + "train: {max_step: 5, micro_batch_size: 4}\n"),
              AllOf(HasSubstr("`max_steps`?"), Not(HasSubstr("E124"))));
  EXPECT_THAT(refusal(kHead + "max_steps: 5\ntrain: {micro_batch_size: 4}\n"),
              AllOf(HasSubstr("E102"), Not(HasSubstr("E124"))));
  EXPECT_THAT(refusal(kHead + "zzzzzz: 5\ntrain: {micro_batch_size: 4}\n"),
              AllOf(HasSubstr("E101"), Not(HasSubstr("E124"))))
      << "any key that is not there may have been meant";
}

TEST_F(ConfigRulesTest, AreNotAskedWhereTheFileCouldNotBeReadToItsEnd) {
  EXPECT_THAT(refusal(kHead + kBatch + "run: {name: 'open\n"), Not(HasSubstr("E122")));
  EXPECT_EQ(calls_, 0);
}

}  // namespace
}  // namespace mgpu
