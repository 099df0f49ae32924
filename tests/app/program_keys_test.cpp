#include <filesystem>
#include <limits>
#include <regex>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/app/load_config.hpp>
#include <mgpu/app/print_info.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/config/config_reader.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/recipes/recipe.hpp>

#include "app/run_keys.hpp"
#include "support/made_config.hpp"
#include "support/project_folder.hpp"

namespace mgpu::app {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(ProgramKeysTest, KeysThatATranslationMentionsAreThere) {
  const std::regex quoted_key("`([a-z_]+\\.[a-z_]+)[`:]");
  for (const ForeignName& foreign : program_keys().foreign_names()) {
    const std::string& help = foreign.help;
    for (std::sregex_iterator at(help.begin(), help.end(), quoted_key), end; at != end; ++at) {
      EXPECT_NE(program_keys().find((*at)[1].str()), nullptr) << foreign.name << ": " << help;
    }
  }
}

TEST(ProgramKeysTest, NoForeignNameIsAKey) {
  EXPECT_GT(program_keys().foreign_names().size(), 40U);
  for (const ForeignName& foreign : program_keys().foreign_names()) {
    EXPECT_EQ(program_keys().find_called(foreign.name), nullptr) << foreign.name;
    EXPECT_FALSE(foreign.help.empty()) << foreign.name;
  }
}

// Keys that are converted to int or used as a factor must be small. The listed keys stay 64-bit
// integers.
TEST(ProgramKeysTest, WholeNumbersAreBoundedUnlessTheyAreKeptIn64Bits) {
  const std::set<std::string> kept = {
      "schema",           "run.seed",         "data.env_split_seed",
      "train.eval_every", "train.max_steps",  "train.warmup_steps",
      "checkpoint.every", "log.memory_every", "devices.clear_cache_every",
      "data.max_samples", "data.start"};
  for (const KeySpec& key : program_keys().keys()) {
    const bool is_whole = key.type == KeyType::integer || key.type == KeyType::integers;
    if (!is_whole || kept.contains(key.name)) continue;
    EXPECT_LE(key.max, std::numeric_limits<int>::max()) << key.name;
    EXPECT_GE(key.min, std::numeric_limits<int>::min()) << key.name;
  }
}

TEST(ProgramKeysTest, NumbersThatWouldBeCutAreRefused) {
  const auto read = [](const std::string& key, const std::string& value) {
    ConfigSources sources;
    sources.overrides = {{key, value}, {"job", "train"}};
    sources.working_directory = "/";
    return read_config(program_keys(), sources);
  };
  EXPECT_EQ(read("devices.threads", "4096").integer("devices.threads"), 4096);
  EXPECT_THROW(read("devices.threads", "4294967296"), ConfigFailure);
  EXPECT_THROW(read("devices.gpus", "[4294967296]"), ConfigFailure);
  EXPECT_THROW(read("devices.gpus", "[-1]"), ConfigFailure);
  EXPECT_THROW(read("devices.gpus_per_model", "4294967297"), ConfigFailure);
  EXPECT_THROW(read("train.global_batch_size", "9200000000000000000"), ConfigFailure);
}

TEST(ProgramKeysTest, TheOldNameOfAKeyGivesTheSameRun) {
  const auto identity = [](const std::string& key, const std::string& rows) {
    ConfigSources sources;
    sources.overrides = {{key, rows}, {"job", "train"}, {"train.recipe", "sft"}};
    sources.working_directory = "/";
    return read_config(program_keys(), sources).identity();
  };
  EXPECT_EQ(identity("data.little_texts", "20"), identity("data.synthetic_texts", "20"));
  EXPECT_NE(identity("data.little_texts", "20"), identity("data.little_texts", "21"));
}

/// A configuration whose keys are all at the top level, some of them under other names.
constexpr const char* kFlatKeys =
    "mixed_precision: 'fp16'\n"
    "gradient_accumulation_steps: 4\n"
    "train_batch_size: 256\n"
    "test_batch_size: 2048\n"
    "num_workers: 4\n"
    "tf_n_embd: 32\n"
    "tf_n_layer: 2\n"
    "n_transit: 160\n";

Config read_flat_keys() {
  ConfigSources sources;
  sources.file = "flat.yaml";
  sources.overrides = {{"job", "train", "command line", "job=train", 5}};
  sources.working_directory = "/";
  sources.read = [](const std::filesystem::path&) { return std::string(kFlatKeys); };
  return read_config(program_keys(), sources);
}

TEST(ProgramKeysTest, ReadsFlatKeysWithOtherNames) {
  const Config config = read_flat_keys();

  EXPECT_EQ(config.text("train.mixed_precision"), "fp16");
  EXPECT_EQ(config.integer("train.gradient_accumulation_steps"), 4);
  EXPECT_EQ(config.integer("train.global_batch_size"), 256);
  EXPECT_EQ(config.integer("model.tf_n_embd"), 32);
  EXPECT_EQ(config.integer("model.tf_n_layer"), 2);
  EXPECT_EQ(config.integer("model.n_transit"), 160);
}

TEST(ProgramKeysTest, NotesWhatFlatKeysMeanHere) {
  const Config config = read_flat_keys();

  EXPECT_THAT(config.notes(),
              testing::ElementsAre(
                  "flat.yaml:1: `mixed_precision` is read as `train.mixed_precision`",
                  "flat.yaml:2: `gradient_accumulation_steps` is read as "
                  "`train.gradient_accumulation_steps`: it cuts `train.global_batch_size`, which "
                  "does not change",
                  "flat.yaml:3: `train_batch_size` is read as `train.global_batch_size`: it "
                  "counts all ranks",
                  "flat.yaml:4: `test_batch_size` has no effect: evaluations play "
                  "`run.chunk_size` runs together",
                  "flat.yaml:5: `num_workers` has no effect: each rank cuts its own batches, "
                  "without loader processes",
                  "flat.yaml:6: `tf_n_embd` is read as `model.tf_n_embd`",
                  "flat.yaml:7: `tf_n_layer` is read as `model.tf_n_layer`",
                  "flat.yaml:8: `n_transit` is read as `model.n_transit`"));
}

TEST(ProgramKeysTest, ExplainsFlatKeys) {
  for (const char* name : {"mixed_precision", "gradient_accumulation_steps", "train_batch_size",
                           "tf_n_embd", "tf_n_layer", "tf_n_head", "tf_dropout", "n_transit"}) {
    EXPECT_THAT(explain(program_keys(), {}, name), testing::HasSubstr(name));
  }
  for (const char* name : {"num_workers", "test_batch_size"})
    EXPECT_THAT(explain(program_keys(), {}, name), testing::HasSubstr("accepted without effect"));
}

TEST(ProgramKeysTest, CompressionIsALevelOrNone) {
  const auto level_of = [](const std::string& compression) {
    const testing_support::Keys keys = {{"job", "train"}, {"output.compression", compression}};
    return store::read_store_config(testing_support::config_of(keys)).gzip;
  };
  EXPECT_EQ(level_of("none"), 0);
  EXPECT_EQ(level_of("gzip:1"), 1);
  EXPECT_EQ(level_of("gzip:9"), 9);
}

/// Returns the codes of the errors in the keys of a configuration.
std::set<std::string> codes_of(const Options& options) {
  const auto check = [](const Config& config) {
    read_run_keys(config, [](const cluster::ClusterConfig&) { return 1; });
  };
  std::set<std::string> codes;
  try {
    load_config(options, program_keys(), FileProvider::alone(), check);
  } catch (const Failure& failure) {
    const std::string message = failure.what();
    const std::regex code(R"(error\[(E\d+)\])");
    for (std::sregex_iterator at(message.begin(), message.end(), code), end; at != end; ++at)
      codes.insert((*at)[1]);
  }
  return codes;
}

// A run prints its configuration, which sets all keys, for the same run again. Other tests have the
// checks that need a path, such as that of prm.step_separator.
TEST(ProgramKeysTest, ConfigurationsWithAllDefaultsLackOnlyPaths) {
  const std::filesystem::path conf = testing_support::project_folder() / "conf";
  for (const jobs::JobSpec& job : jobs::jobs()) {
    const std::string file = conf / job.name / "full.yaml";
    EXPECT_THAT(codes_of({.config = file}), Each("E114")) << job.name;
  }
  EXPECT_THAT(codes_of({.config = conf / "generate/full.yaml"}), ElementsAre("E114"));
  const std::string train = conf / "train/full.yaml";
  for (const recipes::RecipeSpec& recipe : recipes::recipes()) {
    const Options options{.config = train,
                          .overrides = {{"train.recipe", std::string(recipe.name)}}};
    EXPECT_THAT(codes_of(options), Each("E114")) << recipe.name;
  }
}

}  // namespace
}  // namespace mgpu::app
