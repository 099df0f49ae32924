// Tests the plans of jobs with language models: batches that fit, memory, and traffic.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/app/load_config.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/lm/config/lm_config.hpp>

#include "support/project_folder.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::jobs {
namespace {

using testing::Contains;
using testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
const std::string kLlama = testing_support::lm_goldens() / "llama";  // 2 layers

using Keys = std::map<std::string, std::string>;

/// Returns a configuration with `keys` and `more`. Where both have a key, `more` takes precedence.
Config config_of(Keys keys, const Keys& more) {
  for (const auto& [name, value] : more)
    keys[name] = value;
  app::Options options;
  for (const auto& [name, value] : keys)
    options.overrides.push_back({name, value});
  return app::load_config(options, app::program_keys(), FileProvider::alone());
}

/// Returns a machine that has `bytes_of_a_rank` bytes for each rank, in addition to 40 MiB for the
/// program.
run::PlanMachine machine_of(int ranks, std::uint64_t bytes_of_a_rank) {
  run::PlanMachine machine;
  machine.ranks = ranks;
  machine.ranks_per_node = ranks;
  machine.host_bytes = static_cast<std::uint64_t>(ranks) * (bytes_of_a_rank + 40 * kMiB);
  return machine;
}

const report::Plan::Limit& memory_limit(const report::Plan& plan) {
  return *std::ranges::find_if(plan.limits,
                               [](const auto& limit) { return limit.key != "run.output"; });
}

std::uint64_t memory(const report::Plan& plan, const std::string& what) {
  const auto found =
      std::ranges::find_if(plan.memory, [&](const auto& part) { return part.what == what; });
  return found == plan.memory.end() ? 0 : found->bytes;
}

class GeneratePlanTest : public testing::Test {
protected:
  GeneratePlanTest() {
    std::ofstream file(prompts_);
    for (int i = 0; i < 64; ++i)
      file << R"({"token_ids": [1, 2, 3]})" << '\n';
  }

  report::Plan plan(const Keys& more, const run::PlanMachine& machine) {
    const Keys keys = {{"job", "generate"},
                       {"model.path", kLlama},
                       {"data.path", prompts_.string()},
                       {"generate.max_new_tokens", "1000"},
                       {"generate.batch_size", "32"},
                       {"devices.memory_margin", "0"}};
    const Config config = config_of(keys, more);
    return read_job(config)->plan(machine);
  }

  testing_support::TemporaryFolder folder_;
  std::filesystem::path prompts_ = folder_.path() / "prompts.jsonl";
};

TEST_F(GeneratePlanTest, TheLargestBatchThatFitsIsWhatToType) {
  const run::PlanMachine roomy = machine_of(1, 100 * kMiB);
  const run::PlanMachine narrow = machine_of(1, 4 * kMiB);
  EXPECT_EQ(memory_limit(plan({}, roomy)).fits, "");

  const report::Plan tight = plan({}, narrow);

  EXPECT_GT(memory_limit(tight).used, 1.0);
  const std::string fits = memory_limit(tight).fits;
  ASSERT_THAT(fits, HasSubstr("devices.gpus_per_model=1 generate.batch_size="));
  const std::string batch = fits.substr(fits.rfind('=') + 1);
  EXPECT_LE(memory_limit(plan({{"generate.batch_size", batch}}, narrow)).used, 1.0);
  const std::string more = std::to_string(std::stoi(batch) + 1);
  EXPECT_GT(memory_limit(plan({{"generate.batch_size", more}}, narrow)).used, 1.0);
  EXPECT_THAT(plan({{"generate.batch_size", "auto"}}, narrow).notes,
              Contains(HasSubstr("generate.batch_size=auto: " + batch)));
}

/// Copies the model to `folder`, as a value model with a Bernoulli head.
std::string make_guide(const std::filesystem::path& folder) {
  std::filesystem::copy(kLlama, folder);
  std::ifstream file(folder / "config.json");
  std::string config{std::istreambuf_iterator<char>(file), {}};
  const std::string name = "LlamaForCausalLM";
  config.replace(config.find(name), name.size(), "LlamaForTokenClassification");
  config.insert(config.find('{') + 1, R"("value_head": {"kind": "bernoulli"}, "num_labels": 1,)");
  std::ofstream(folder / "config.json") << config;
  return folder.string();
}

// The guide needs a cache for its sequences and for 20 candidates of each. The reference model
// reads all completions again.
TEST_F(GeneratePlanTest, AnAutomaticBatchLeavesRoomForOtherModels) {
  const run::PlanMachine machine = machine_of(1, 30 * kMiB);
  const std::string guide = make_guide(folder_.path() / "guide");
  std::vector<std::int64_t> batches;
  for (Keys keys :
       {Keys{}, Keys{{"generate.reference", kLlama}}, Keys{{"generate.guide.path", guide}},
        Keys{{"generate.guide.path", guide}, {"generate.reference", kLlama}}}) {
    keys["generate.num_samples"] = "4";
    keys["generate.batch_size"] = "auto";
    const report::Plan automatic = plan(keys, machine);
    const std::string words = "generate.batch_size=auto: ";
    const auto note = std::ranges::find_if(
        automatic.notes, [&](const std::string& text) { return text.starts_with(words); });
    ASSERT_NE(note, automatic.notes.end());
    const std::int64_t batch = std::stoll(note->substr(words.size()));
    batches.push_back(batch);

    keys["generate.batch_size"] = std::to_string(batch);
    EXPECT_LE(memory_limit(plan(keys, machine)).used, 1.0);
    keys["generate.batch_size"] = std::to_string(batch + 1);
    EXPECT_GT(memory_limit(plan(keys, machine)).used, 1.0);
  }
  EXPECT_GT(batches[0], batches[1]);
  EXPECT_GT(batches[0], batches[2]);
  EXPECT_GT(batches[1], batches[3]);
  EXPECT_GT(batches[2], batches[3]);
}

// The vocabulary head of the model is a padded copy of the embedding. A guide does not have it.
TEST_F(GeneratePlanTest, AGuideHasNoVocabularyHead) {
  const std::string guide = make_guide(folder_.path() / "guide");
  const lm::LmConfig config = lm::read_lm_config(guide);
  const report::Plan guided = plan({{"generate.guide.path", guide}}, machine_of(1, 30 * kMiB));

  const auto head = static_cast<std::uint64_t>(config.vocab * config.hidden_size) * sizeof(float);
  EXPECT_GE(memory(guided, "weights"), memory(guided, "guide") + head);
}

TEST_F(GeneratePlanTest, ACacheOfBfloat16TakesHalfTheMemory) {
  const run::PlanMachine machine = machine_of(1, 100 * kMiB);
  const std::uint64_t whole = memory(plan({}, machine), "cache");

  EXPECT_EQ(2 * memory(plan({{"generate.kv_cache_dtype", "bfloat16"}}, machine), "cache"), whole);
  EXPECT_GT(whole, 0U);
}

TEST_F(GeneratePlanTest, TheMarginStaysFree) {
  const report::Plan half = plan({{"devices.memory_margin", "0.5"}}, machine_of(1, 48 * kMiB));

  EXPECT_DOUBLE_EQ(memory_limit(half).allowed, 0.5);
  EXPECT_NE(memory_limit(half).fits, "");
}

TEST_F(GeneratePlanTest, RanksOfAGroupHoldTheirParts) {
  const report::Plan whole = plan({}, machine_of(3, 100 * kMiB));
  const report::Plan pairs = plan({{"devices.gpus_per_model", "2"}}, machine_of(4, 100 * kMiB));

  EXPECT_LT(memory(pairs, "weights"), memory(whole, "weights"));
  EXPECT_GT(memory(pairs, "buffers"), 0U);
  ASSERT_EQ(pairs.shares.size(), 2U);
  EXPECT_EQ(pairs.shares[1].who, "ranks 2 to 3");
  EXPECT_EQ(pairs.shares[1].first, 32);
  EXPECT_THAT(pairs.notes, Contains(HasSubstr("rank 1 of a group of 2: ")));
  EXPECT_THROW(plan({{"devices.gpus_per_model", "2"}}, machine_of(3, kMiB)), Failure);
}

TEST(LmTrainPlanTest, LanesNeedTheBuffersOfTheirTree) {
  const testing_support::TemporaryFolder folder;
  std::filesystem::copy(kLlama, folder.path());
  std::ofstream(folder.path() / "tokenizer.json") << "{}";  // the plan does not read this file
  const std::string path = folder.path().string();
  const auto planned = [&](const Keys& more, int ranks) {
    const Keys keys = {{"job", "train"},
                       {"model.path", path},
                       {"data.path", path + "/tokenizer.json"},
                       {"train.lanes", "8"},
                       {"train.global_batch_size", "8"},
                       {"train.seq_len", "16"},
                       {"train.max_steps", "2"}};
    const Config config = config_of(keys, more);
    return read_job(config)->plan(machine_of(ranks, 100 * kMiB));
  };
  const report::Plan sums = planned({}, 2);
  const report::Plan lanes = planned({{"run.deterministic", "layout"}}, 2);
  const std::uint64_t weights = memory(sums, "weights");

  // Each rank has 4 lanes, which need log2 4 buffers.
  EXPECT_EQ(memory(lanes, "buffers"), memory(sums, "buffers") + 2 * weights);
  EXPECT_EQ(sums.traffic.front().bytes_per_step, weights);
  EXPECT_EQ(planned({{"run.deterministic", "layout"}}, 4).traffic.front().bytes_per_step,
            2 * weights);
  EXPECT_DOUBLE_EQ(memory_limit(sums).allowed, 0.92);
}

}  // namespace
}  // namespace mgpu::jobs
