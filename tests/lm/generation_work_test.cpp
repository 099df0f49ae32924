// Tests how many tokens a generation processes, and how many pages of the cache it uses.
#include <algorithm>
#include <array>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/lm/decode/generator.hpp>

#include "lm/decode/generation_batch.hpp"
#include "support/project_folder.hpp"

namespace mgpu::lm {
namespace {

using Numbers = std::vector<std::int64_t>;

/// The ShardPeers of a group of one rank. Records the number of tokens of each pass.
class CountingPeers : public ShardPeers {
public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void all_reduce(const at::Tensor& /*values*/) override {}
  void throw_if_any_failed(const std::exception_ptr& failure) override {
    if (failure) std::rethrow_exception(failure);
  }
  void receive_previous_stage(const at::Tensor& /*values*/) override {}
  void send_next_stage(const at::Tensor& /*values*/) override {}
  void begin_pass(Numbers sums) override { tokens_.push_back(sums.front()); }
  void participate_without_result(const at::Tensor& /*values*/) override {}
  int all_reduce_max(int mine) override { return mine; }
  bool is_broadcast_root() const override { return true; }
  void post_broadcast(std::string message) override { message_ = std::move(message); }
  std::string receive_broadcast() override { return message_; }
  int passes_in_flight() const override { return 1; }

  const Numbers& tokens() const { return tokens_; }  // of each pass

private:
  Numbers tokens_;
  std::string message_;
};

/// Returns the number of tokens in each pass of a run.
Numbers tokens_of_passes(std::span<const Prompt> prompts, const GenerationConfig& config,
                         const StopText& stop_text = {}) {
  const fs::path folder = testing_support::lm_goldens() / "llama";
  const LmConfig model_config = read_lm_config(folder);
  Shard shard = whole_model(model_config);
  shard.is_tensor_parallel = true;  // begin_pass() gets the rows of each all-reduce
  CountingPeers peers;
  const LanguageModel model(model_config, load_weights(model_config, formats::WeightFiles(folder)),
                            shard, peers);
  Generator(model, config, stop_text).run(prompts);
  return peers.tokens();
}

/// Returns the maximum number of cache pages in use.
std::int64_t most_pages(std::span<const Prompt> prompts, const GenerationConfig& config) {
  constexpr std::int64_t kPages = 64;
  const LanguageModel model = LanguageModel::open(testing_support::lm_goldens() / "llama");
  DecodePool pool(model, {kPages, config.page_tokens});
  AdmissionQueue queue(model.config(), prompts, config);
  const StopText stop_text;
  const SeeHidden see_hidden;
  GenerationBatch batch(model, config, {stop_text, see_hidden}, queue, pool, kPages);
  std::int64_t most = 0;
  while (batch.step())
    most = std::max(most, kPages - pool.cache().free_pages());
  EXPECT_EQ(pool.cache().free_pages(), kPages);
  return most;
}

/// Returns ids below 67; even the first one depends on the seed.
Numbers tokens_from(std::int64_t seed, std::int64_t count) {
  Numbers ids;
  for (std::int64_t i = 0; i < count; ++i)
    ids.push_back((i * 13 + seed * 29 + 3) % 67);
  return ids;
}

std::vector<Prompt> prompts_of(const std::vector<Numbers>& ids) {
  std::vector<Prompt> prompts;
  for (std::size_t p = 0; p < ids.size(); ++p)
    prompts.push_back({p, ids[p], 1});
  return prompts;
}

GenerationConfig four_tokens() {
  GenerationConfig config;
  config.max_new_tokens = 4;
  config.batch_size = 4;
  config.page_tokens = 4;
  return config;
}

TEST(AdmissionQueueTest, EndedResultsAreCountedAsTheyEnd) {
  const LmConfig model = read_lm_config(testing_support::lm_goldens() / "llama");
  const Numbers ids = tokens_from(0, 3);
  const std::vector<Numbers> continuations = {ids, ids};
  const std::vector<Prompt> prompts = {{0, ids, 2}, {2, ids, 1, continuations}, {3, ids, 1}};
  AdmissionQueue queue(model, prompts, four_tokens());

  EXPECT_EQ(queue.ended(), 0);
  EXPECT_FALSE(queue.end_sequence(0));
  EXPECT_EQ(queue.ended(), 1);
  queue.set_unfinished(1, 2);  // both continuations have begun
  EXPECT_FALSE(queue.end_sequence(1));
  EXPECT_EQ(queue.ended(), 1);
  EXPECT_TRUE(queue.end_sequence(1));
  EXPECT_EQ(queue.ended(), 2);
  queue.set_unfinished(2, 0);  // a prompt that was only scored
  EXPECT_TRUE(queue.end_sequence(0));
  EXPECT_EQ(queue.ended(), 4);
}

// Several short completions use the second slot of the batch, one after the other. The first pass
// of each has a prompt of 3 tokens and the next token of the long completion.
TEST(GenerationWorkTest, APromptBeginsWhereACompletionHasEnded) {
  constexpr std::array<std::size_t, 5> kLengths = {8, 2, 2, 2, 2};
  std::vector<Numbers> ids;
  for (std::int64_t p = 0; p < 5; ++p)
    ids.push_back(tokens_from(p, 3));
  const StopText at_its_length = [&](std::uint64_t sample, std::span<const std::int64_t> new_ids) {
    return new_ids.size() == kLengths[sample];
  };
  GenerationConfig config;
  config.max_new_tokens = 20;

  config.batch_size = 2;
  EXPECT_EQ(tokens_of_passes(prompts_of(ids), config, at_its_length),
            (Numbers{6, 2, 4, 2, 4, 2, 4, 2}));
  config.batch_size = 1;
  EXPECT_EQ(tokens_of_passes(prompts_of(ids), config, at_its_length).size(), 16U);
}

TEST(GenerationWorkTest, SamplesOfAPromptShareItsTokensAndPages) {
  const std::vector<Numbers> ids = {tokens_from(0, 20), tokens_from(1, 20), tokens_from(2, 20),
                                    tokens_from(3, 20)};
  const Prompt samples{0, ids.front(), 4};
  const GenerationConfig config = four_tokens();

  EXPECT_EQ(tokens_of_passes({&samples, 1}, config), (Numbers{20, 4, 4, 4}));
  EXPECT_EQ(tokens_of_passes(prompts_of(ids), config), (Numbers{80, 4, 4, 4}));
  EXPECT_EQ(most_pages({&samples, 1}, config), 5 + 4);
  EXPECT_EQ(most_pages(prompts_of(ids), config), 4 * 6);
}

// 16 tokens are four pages, which the first prompt computes; the others start one pass later.
TEST(GenerationWorkTest, PromptsThatBeginAlikeShareThatBeginning) {
  std::vector<Numbers> ids;
  for (std::int64_t p = 1; p <= 4; ++p) {
    ids.push_back(tokens_from(0, 16));
    const Numbers own = tokens_from(p, 4);
    ids.back().insert(ids.back().end(), own.begin(), own.end());
  }

  EXPECT_EQ(tokens_of_passes(prompts_of(ids), four_tokens()), (Numbers{20, 1 + 3 * 4, 4, 4, 3}));
}

}  // namespace
}  // namespace mgpu::lm
