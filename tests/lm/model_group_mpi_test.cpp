// Compares models on groups of ranks with the same model on one rank.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/parallel/model_group.hpp>
#include <mgpu/lm/parallel/shard_plan.hpp>
#include <mgpu/lm/weights/shared_folder.hpp>

#include "golden_folder.hpp"
#include "golden_model.hpp"
#include "made_folder.hpp"
#include "support/measured.hpp"
#include "support/project_folder.hpp"

namespace mgpu::lm {
namespace {

const cluster::Group& world() {
  static const cluster::Group group = cluster::Group::world();
  return group;
}

/// Returns a topology with all ranks in one group.
const cluster::Topology& one_group() {
  static const cluster::Topology topology(world(), world().size());
  return topology;
}

ModelGroup::Options split_by(Split split, LayerMap layers = {}) {
  ModelGroup::Options options;
  options.plan = {split, std::move(layers)};
  options.communicator.timeout_s = 60.0;
  return options;
}

std::vector<PromptResult> generate(const LanguageModel& model, const GenerationConfig& config) {
  static const std::vector<Ids> ids = make_prompts(11);
  std::vector<Prompt> prompts;
  for (std::size_t p = 0; p < ids.size(); ++p)
    prompts.push_back({p * 100, ids[p], static_cast<std::int64_t>(p % 3 + 1)});
  return Generator(model, config).run(prompts);
}

GenerationConfig greedy() {
  GenerationConfig config;
  config.max_new_tokens = 12;
  config.batch_size = 6;
  config.page_tokens = 4;
  config.scores_prompts = true;
  return config;
}

GenerationConfig sampled() {
  GenerationConfig config = greedy();
  config.sampling.is_greedy = false;
  config.sampling.temperature = 0.9;
  config.sampling.repetition_penalty = 1.1;
  config.sampling.seed = 5;
  config.stop_ids = {3};
  return config;
}

GenerationConfig cut(double top_p) {
  GenerationConfig config = sampled();
  config.sampling.top_p = top_p;
  return config;
}

void expect_equal(const std::vector<PromptResult>& ours, const std::vector<PromptResult>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t p = 0; p < ours.size(); ++p) {
    EXPECT_EQ(ours[p].prompt_log_probs, theirs[p].prompt_log_probs) << p;
    ASSERT_EQ(ours[p].completions.size(), theirs[p].completions.size());
    for (std::size_t c = 0; c < ours[p].completions.size(); ++c) {
      EXPECT_EQ(ours[p].completions[c].ids, theirs[p].completions[c].ids) << p << " " << c;
      EXPECT_EQ(ours[p].completions[c].log_probs, theirs[p].completions[c].log_probs) << p;
      EXPECT_EQ(ours[p].completions[c].reason, theirs[p].completions[c].reason) << p;
    }
  }
}

/// Expects differences of at most 1e-5, and returns the largest one.
double expect_near(const std::vector<float>& ours, const std::vector<float>& theirs) {
  EXPECT_EQ(ours.size(), theirs.size());
  double worst = 0.0;
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(ours[i]) - theirs[i]));
  EXPECT_LE(worst, 1e-5);
  return worst;
}

/// Expects equal tokens, and log-probabilities up to rounding, because a group adds in another
/// order.
void expect_close(const std::vector<PromptResult>& ours, const std::vector<PromptResult>& theirs) {
  ASSERT_EQ(ours.size(), theirs.size());
  double worst = 0.0;
  for (std::size_t p = 0; p < ours.size(); ++p) {
    worst = std::max(worst, expect_near(ours[p].prompt_log_probs, theirs[p].prompt_log_probs));
    for (std::size_t c = 0; c < theirs[p].completions.size(); ++c) {
      EXPECT_EQ(ours[p].completions[c].ids, theirs[p].completions[c].ids) << p << " " << c;
      worst = std::max(
          worst, expect_near(ours[p].completions[c].log_probs, theirs[p].completions[c].log_probs));
    }
  }
  if (world().rank() == 0)
    testing_support::print_measured("log-probabilities of a group", worst, 1e-5);
}

/// Opens a folder on all ranks. Returns the report of the failure; an empty one without a failure.
ErrorReport refusal(const fs::path& folder, const ModelGroup::Options& options) {
  try {
    ModelGroup::open(folder, one_group(), options);
  } catch (const Failure& failure) {
    return failure.report();
  }
  return {};
}

class GroupOfGoldensTest : public testing::TestWithParam<const char*> {
protected:
  fs::path folder() const { return testing_support::lm_goldens() / GetParam(); }
};

TEST_P(GroupOfGoldensTest, SplitSumsGiveTheTokensOfOneRank) {
  const LanguageModel alone = LanguageModel::open(folder());
  const LmConfig& config = alone.config();
  const bool divides = config.kv_heads >= world().size() || world().size() % config.kv_heads == 0;
  if (!divides || config.heads < world().size()) {
    EXPECT_EQ(refusal(folder(), split_by(Split::tensor)).code, "E126");
    return;
  }

  const ModelGroup group = ModelGroup::open(folder(), one_group(), split_by(Split::tensor));

  expect_close(generate(group.model(), greedy()), generate(alone, greedy()));
}

TEST_P(GroupOfGoldensTest, SplitLayersGiveTheBytesOfOneRank) {
  const LanguageModel alone = LanguageModel::open(folder());
  if (std::cmp_less(alone.config().layers.size(), world().size())) {
    EXPECT_EQ(refusal(folder(), split_by(Split::pipeline)).code, "E126");
    return;
  }

  const ModelGroup group = ModelGroup::open(folder(), one_group(), split_by(Split::pipeline));

  expect_equal(generate(group.model(), greedy()), generate(alone, greedy()));
}

/// Scores prompts that begin with the same 9 tokens, each with continuations.
std::vector<PromptResult> score_continuations(const LanguageModel& model) {
  static const std::vector<Ids> continuations = {{5}, {5, 61, 8}, {9, 9, 9, 9, 1}};
  static const std::vector<Ids> ids = [] {
    std::vector<Ids> alike = make_prompts(9);
    for (Ids& prompt : alike)
      prompt.insert(prompt.begin(), {2, 4, 6, 8, 10, 12, 14, 16, 18});
    return alike;
  }();
  std::vector<Prompt> prompts;
  for (const Ids& prompt : ids)
    prompts.push_back({0, prompt, 1, continuations});
  GenerationConfig config = greedy();
  config.max_new_tokens = 0;
  config.scores_prompts = false;
  config.batch_size = 4;
  config.prefill_tokens = 12;
  return Generator(model, config).run(prompts);
}

TEST(ModelGroupTest, ContinuationsAreScoredAsByOneRank) {
  const MadeFolder made(world(), {});
  const fs::path folder = made.path();
  const auto expected = score_continuations(LanguageModel::open(folder));
  for (const Split split : {Split::pipeline, Split::tensor}) {
    if (refusal(folder, split_by(split)).code == "E126") continue;  // too few layers or heads
    const auto results =
        score_continuations(ModelGroup::open(folder, one_group(), split_by(split)).model());
    ASSERT_EQ(results.size(), expected.size());
    for (std::size_t p = 0; p < results.size(); ++p)
      for (std::size_t c = 0; c < 3; ++c)
        if (split == Split::pipeline)
          EXPECT_EQ(results[p].continuation_log_probs[c], expected[p].continuation_log_probs[c]);
        else
          expect_near(results[p].continuation_log_probs[c], expected[p].continuation_log_probs[c]);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GroupOfGoldensTest,
                         testing::Values("gpt2", "gpt2_only_head", "gpt2_switches", "llama_biases",
                                         "llama_dynamic", "llama_stored_head", "mistral", "qwen2",
                                         "qwen2_window", "qwen3_switches", "gpt_oss",
                                         "gpt_oss_mxfp4"),
                         [](const auto& entry) { return std::string(entry.param); });

TEST(ModelGroupTest, SplitLayersGiveTheBytesOfOneRankHoweverTheyAreDrawn) {
  const MadeFolder folder(world(), {});
  const LanguageModel alone = LanguageModel::open(folder.path());
  const ModelGroup group = ModelGroup::open(folder.path(), one_group(), split_by(Split::pipeline));

  for (const GenerationConfig& config : {greedy(), sampled(), cut(0.9), cut(0.5)})
    expect_equal(generate(group.model(), config), generate(alone, config));
  GenerationConfig scored = greedy();
  scored.max_new_tokens = 0;
  scored.prefill_tokens = 7;
  expect_equal(generate(group.model(), scored), generate(alone, scored));
}

TEST(ModelGroupTest, SplitSumsOfUnevenPartsGiveTheTokensOfOneRank) {
  // 5 heads, 81 columns and 307 tokens are not divisible by 2, 3 or 4 ranks.
  const MadeFolder folder(world(), {.layers = 2,
                                    .width = 40,
                                    .inner = 81,
                                    .heads = 5,
                                    .kv_heads = 5,
                                    .vocab = 307,
                                    .is_tied = true});
  const LanguageModel alone = LanguageModel::open(folder.path());
  const ModelGroup group = ModelGroup::open(folder.path(), one_group(), split_by(Split::tensor));

  expect_close(generate(group.model(), greedy()), generate(alone, greedy()));
}

/// Returns the largest |ours - theirs| / (1 + |theirs|) of all values but the first.
double largest_relative(const std::vector<float>& ours, const std::vector<float>& theirs) {
  EXPECT_EQ(ours.size(), theirs.size());
  double worst = 0.0;
  for (std::size_t i = 1; i < std::min(ours.size(), theirs.size());
       ++i)  // the first is not a number
    worst = std::max(worst, std::abs(static_cast<double>(ours[i]) - theirs[i]) /
                                (1.0 + std::abs(static_cast<double>(theirs[i]))));
  return worst;
}

// docs/generate.md promises differences of at most 3e-5 (1 + |log-probability|). Log-probabilities
// reach -60 here.
TEST(ModelGroupTest, LogProbabilitiesOfASharpDeepModelAgreeRelatively) {
  const MadeFolder folder(world(), {.layers = 24, .kv_heads = 6, .vocab = 600, .head_spread = 1.5});
  const LanguageModel alone = LanguageModel::open(folder.path());
  const ModelGroup group = ModelGroup::open(folder.path(), one_group(), split_by(Split::tensor));

  const std::vector<PromptResult> ours = generate(group.model(), greedy());
  const std::vector<PromptResult> theirs = generate(alone, greedy());

  double worst = 0.0;
  float lowest = 0.0F;
  for (std::size_t p = 0; p < theirs.size(); ++p) {
    worst = std::max(worst, largest_relative(ours[p].prompt_log_probs, theirs[p].prompt_log_probs));
    for (const float value : theirs[p].prompt_log_probs)
      lowest = std::min(lowest, std::isnan(value) ? 0.0F : value);
  }
  EXPECT_LT(lowest, -40.0F);
  EXPECT_LE(worst, 3e-5);
  if (world().rank() == 0)
    testing_support::print_measured("relative log-probabilities of a group", worst, 3e-5);
}

// In a larger vocabulary, some tokens have such close probabilities that rounding decides which is
// drawn.
TEST(ModelGroupTest, DrawsWithACutAreThoseOfOneRank) {
  const MadeFolder folder(world(), {.kv_heads = 6, .vocab = 301});
  const LanguageModel alone = LanguageModel::open(folder.path());
  const ModelGroup group = ModelGroup::open(folder.path(), one_group(), split_by(Split::tensor));
  GenerationConfig best = sampled();
  best.sampling.top_k = 50;

  for (const GenerationConfig& config : {cut(0.9), best})
    expect_close(generate(group.model(), config), generate(alone, config));
}

TEST(ModelGroupTest, DrawsOverSplitVocabulariesAreEqualOnAllRanks) {
  const MadeFolder folder(world(), {.kv_heads = 6, .vocab = 5000});
  const ModelGroup group = ModelGroup::open(folder.path(), one_group(), split_by(Split::tensor));

  for (const GenerationConfig& config : {sampled(), cut(0.9), cut(0.9999)}) {
    std::string drawn;
    for (const PromptResult& result : generate(group.model(), config))
      for (const Completion& completion : result.completions)
        for (const std::int64_t id : completion.ids)
          drawn += std::to_string(id) + " ";
    EXPECT_FALSE(drawn.empty());
    EXPECT_EQ(world().broadcast(drawn, 0), drawn);
  }
}

TEST(ModelGroupTest, TheHeadOfSplitVocabulariesIsThatOfOneRank) {
  const MadeFolder folder(world(), {.kv_heads = 6, .vocab = 301});
  const LanguageModel alone = LanguageModel::open(folder.path());
  const ModelGroup group = ModelGroup::open(folder.path(), one_group(), split_by(Split::tensor));
  const at::Tensor hidden = at::sin(at::arange(300 * 48).to(at::kFloat)).view({300, 48});
  const at::Tensor targets = at::arange(300);

  for (const std::int64_t best : {0, 1, 64, 301}) {
    const HeadResult ours = apply_head(group.model(), hidden, targets, best);
    const HeadResult theirs = apply_head(alone, hidden, targets, best);
    EXPECT_TRUE(ours.best_ids.equal(theirs.best_ids)) << best;
    EXPECT_TRUE(ours.best_logits.equal(theirs.best_logits)) << best;
    EXPECT_LE((ours.log_probs - theirs.log_probs).abs().max().item<float>(), 1e-5F);
    EXPECT_LE((ours.log_sums - theirs.log_sums).abs().max().item<float>(), 1e-5F);
  }
}

TEST(ModelGroupTest, ARankKeepsOnlyItsPart) {
  const MadeFolder folder(world(), {.layers = 8, .kv_heads = 6, .vocab = 600});
  const std::int64_t ranks = world().size();
  for (const Split split : {Split::pipeline, Split::tensor}) {
    ModelGroup group = ModelGroup::open(folder.path(), one_group(), split_by(split));
    const LanguageModel& model = group.model();
    PagedCache cache = model.make_cache({4, 4});
    const bool is_pipeline = split == Split::pipeline && ranks > 1;
    EXPECT_EQ(model.weights().embedding.defined(), !is_pipeline || group.is_leader());
    EXPECT_EQ(model.weights().head.is_defined(), !is_pipeline || group.rank() == ranks - 1);
    const auto layers =
        world().all_gather(static_cast<std::int64_t>(model.weights().layers.size()));
    const std::int64_t total = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
    EXPECT_EQ(total, is_pipeline ? 8 : 8 * ranks);
    if (split == Split::tensor) {
      EXPECT_EQ(world().all_reduce(cache.keys(0).size(1)), 6);
    }
  }
}

TEST(ModelGroupTest, ATiedHeadIsKeptOnce) {
  const MadeFolder folder(world(), {.kv_heads = 6, .vocab = 600, .is_tied = true});
  const SharedFolder shared(folder.path(), world(), one_group().node(), {});
  const std::vector<Shard> shards = tensor_shards(shared.config(), world().size());

  const LmWeights weights =
      shared.load(shards.at(static_cast<std::size_t>(world().rank())), Device{});

  EXPECT_EQ(weights.embedding.const_data_ptr(), weights.head.weight.const_data_ptr());
}

TEST(ModelGroupTest, LogitsThatAreNotFiniteStopAllRanksAndTheGroupGoesOn) {
  const MadeFolder folder(world(), {});
  const ModelGroup group = ModelGroup::open(folder.path(), one_group(), split_by(Split::pipeline));
  const LanguageModel alone = LanguageModel::open(folder.path());
  Generator generator(group.model(), sampled());
  const Ids ids{1, 2, 3};
  const Prompt prompt{0, ids, 1};
  at::Tensor norm = group.model().weights().norm.weight;

  const float before = norm.defined() ? norm[0].item<float>() : 0.0F;
  if (norm.defined()) norm[0] = NAN;
  std::string code;
  try {
    generator.run({&prompt, 1});
  } catch (const Failure& failure) {
    code = failure.report().code;
  }
  if (norm.defined()) norm[0] = before;

  EXPECT_EQ(code, "E704");
  expect_equal(generator.run({&prompt, 1}), Generator(alone, sampled()).run({&prompt, 1}));
}

TEST(ModelGroupTest, AManualMapPlacesLayers) {
  const MadeFolder folder(world(), {});
  const LayerMap by_hand{LayerMap::Kind::manual, {0, 0, 1, 1, 1}};
  const LanguageModel alone = LanguageModel::open(folder.path());
  if (world().size() != 2) {
    const ErrorReport report = refusal(folder.path(), split_by(Split::pipeline, by_hand));
    EXPECT_EQ(report.code, world().size() == 1 ? "" : "E126");  // one rank needs no map
    return;
  }

  const ModelGroup group =
      ModelGroup::open(folder.path(), one_group(), split_by(Split::pipeline, by_hand));

  EXPECT_EQ(group.layer_ranks(), (std::vector<int>{0, 0, 1, 1, 1}));
  EXPECT_EQ(group.model().weights().layers.size(), group.is_leader() ? 2U : 3U);
  expect_equal(generate(group.model(), greedy()), generate(alone, greedy()));
}

TEST(ModelGroupTest, GroupsWorkSideBySide) {
  if (world().size() % 2 != 0) GTEST_SKIP() << "an odd number of ranks has no groups of 2";
  const cluster::Topology pairs(world(), 2);
  const MadeFolder folder(world(), {});
  const LanguageModel alone = LanguageModel::open(folder.path());
  for (const Split split : {Split::pipeline, Split::tensor}) {
    const ModelGroup group = ModelGroup::open(folder.path(), pairs, split_by(split));
    GenerationConfig config = greedy();
    config.max_new_tokens = 3 + 5 * pairs.group_index();  // the numbers of steps differ

    expect_close(generate(group.model(), config), generate(alone, config));
  }
}

}  // namespace
}  // namespace mgpu::lm
