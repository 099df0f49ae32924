// Compares decode sessions and guides on groups of ranks with those on one rank.
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/parallel/model_group.hpp>

#include "made_folder.hpp"
#include "toy_guide.hpp"

namespace mgpu::lm {
namespace {

using Ids = std::vector<std::int64_t>;

const cluster::Group& world() {
  static const cluster::Group group = cluster::Group::world();
  return group;
}

ModelGroup open_group(const fs::path& folder, Split split) {
  static const cluster::Topology topology(world(), world().size());
  ModelGroup::Options options;
  options.plan.split = split;
  options.communicator.timeout_s = 60.0;
  return ModelGroup::open(folder, topology, options);
}

/// The vocabulary has three blocks.
const MadeModel kModel{.layers = 4, .kv_heads = 6, .vocab = 9000};
const MadeModel kGuide{.layers = 2, .width = 24, .inner = 40, .kv_heads = 6, .vocab = 9000};

Ids make_ids(std::size_t count, std::int64_t seed) {
  Ids ids(count);
  for (std::size_t i = 0; i < count; ++i)
    ids[i] = (static_cast<std::int64_t>(i) * 1301 + seed * 2909 + 3) % 9000;
  return ids;
}

/// The results of two latent steps of a sequence and its fork, and of five drawn tokens of each.
struct Walk {
  std::vector<at::Tensor> states;  // [2, D] of each latent step
  Ids ids;
  std::vector<float> log_probs;
};

Walk walk_of(const LanguageModel& model) {
  DecodePool pool(model, {64, 4});
  DecodeSession session(
      model, pool, {.sampling = {.is_greedy = false, .top_k = 20, .seed = 9}, .prefill_tokens = 5});
  const std::int64_t origin = session.add(1);
  session.prefill(origin, make_ids(13, 1));
  while (session.has_input())
    session.pass();
  const std::vector<std::int64_t> both{origin, session.fork(origin, 2)};
  Walk walk;
  for (int step = 0; step < 2; ++step) {
    const at::Tensor states = session.hidden(both);
    walk.states.push_back(states);
    for (std::int64_t s = 0; s < 2; ++s)
      session.prefill(both[static_cast<std::size_t>(s)],
                      states.narrow(0, s, 1) * (0.5 + 0.25 * static_cast<double>(s)));
    session.pass();
  }
  for (int step = 0; step < 5; ++step)
    for (const DrawnToken& token : session.step(both)) {
      walk.ids.push_back(token.id);
      walk.log_probs.push_back(token.log_prob);
    }
  return walk;
}

void expect_walk(const Walk& ours, const Walk& theirs, double tolerance) {
  EXPECT_EQ(ours.ids, theirs.ids);
  for (std::size_t i = 0; i < theirs.states.size(); ++i)
    EXPECT_LE((ours.states[i] - theirs.states[i]).abs().max().item<double>(), tolerance) << i;
  for (std::size_t i = 0; i < theirs.log_probs.size(); ++i)
    EXPECT_NEAR(ours.log_probs[i], theirs.log_probs[i], tolerance) << i;
}

TEST(DecodeSessionTest, AGroupWalksLikeOneRank) {
  const MadeFolder folder(world(), kModel);
  const Walk expected = walk_of(LanguageModel::open(folder.path()));

  expect_walk(walk_of(open_group(folder.path(), Split::pipeline).model()), expected, 0.0);
  expect_walk(walk_of(open_group(folder.path(), Split::tensor).model()), expected, 1e-4);
}

std::vector<Completion> generate(const LanguageModel& model, const LogitProcessors& processors,
                                 const SamplingConfig& sampling) {
  static const std::vector<Ids> ids = {make_ids(9, 1), make_ids(1, 2), make_ids(15, 3),
                                       make_ids(4, 4)};
  std::vector<Prompt> prompts;
  for (std::size_t p = 0; p < ids.size(); ++p)
    prompts.push_back({p * 100, ids[p], static_cast<std::int64_t>(p % 2 + 1)});
  GenerationConfig config;
  config.sampling = sampling;
  config.max_new_tokens = 6;
  config.batch_size = 3;
  config.page_tokens = 4;
  config.processors = processors;
  std::vector<Completion> completions;
  for (const PromptResult& result : Generator(model, config).run(prompts))
    completions.insert(completions.end(), result.completions.begin(), result.completions.end());
  return completions;
}

void expect_completions(const std::vector<Completion>& ours, const std::vector<Completion>& theirs,
                        float tolerance) {
  ASSERT_EQ(ours.size(), theirs.size());
  for (std::size_t c = 0; c < ours.size(); ++c) {
    EXPECT_EQ(ours[c].ids, theirs[c].ids) << c;
    for (std::size_t i = 0; i < theirs[c].log_probs.size(); ++i)
      EXPECT_NEAR(ours[c].log_probs[i], theirs[c].log_probs[i], tolerance) << c << " " << i;
  }
}

bool differ(const std::vector<Completion>& a, const std::vector<Completion>& b) {
  for (std::size_t c = 0; c < a.size(); ++c)
    if (a[c].ids != b[c].ids) return true;
  return false;
}

// Sampling without cuts gives other tokens if the vocabulary is split, so it is not compared.
const SamplingConfig kWays[] = {{}, {.is_greedy = false, .top_k = 6, .seed = 2}};
const PagedCache::Sizes kGuidePages{512, 4};

TEST(GuidedGroupTest, AWholeSecondModelGuidesAGroupAsItGuidesOneRank) {
  const MadeFolder folder(world(), kModel);
  const MadeFolder guide_folder(world(), kGuide);
  const LanguageModel alone = LanguageModel::open(folder.path());
  const LanguageModel second = LanguageModel::open(guide_folder.path());
  for (const SamplingConfig& sampling : kWays) {
    ToyGuide guide(second, kGuidePages, 7, 0.8);
    const auto expected = generate(alone, {{}, &guide}, sampling);
    EXPECT_TRUE(differ(expected, generate(alone, {}, sampling)));
    for (const Split split : {Split::pipeline, Split::tensor}) {
      const ModelGroup group = open_group(folder.path(), split);
      ToyGuide own(second, kGuidePages, 7, 0.8);

      const auto guided = generate(group.model(), {{}, &own}, sampling);

      expect_completions(guided, expected, split == Split::pipeline ? 0.0F : 1e-5F);
      EXPECT_EQ(own.calls > 0, group.model().shard().has_head) << "only where the head is";
    }
  }
}

TEST(GuidedGroupTest, ASecondModelMayBeSharedOutToTheSameTensorGroup) {
  const MadeFolder folder(world(), kModel);
  const MadeFolder guide_folder(world(), kGuide);
  const LanguageModel alone = LanguageModel::open(folder.path());
  const LanguageModel second = LanguageModel::open(guide_folder.path());
  ToyGuide guide(second, kGuidePages, 7, 0.8);
  const auto expected = generate(alone, {{}, &guide}, kWays[1]);
  const ModelGroup group = open_group(folder.path(), Split::tensor);
  const ModelGroup guide_group = open_group(guide_folder.path(), Split::tensor);
  ToyGuide shared(guide_group.model(), kGuidePages, 7, 0.8);

  expect_completions(generate(group.model(), {{}, &shared}, kWays[1]), expected, 1e-5F);
}

/// Forbids every third token.
class Thirds : public BlockProcessor {
public:
  void process(std::span<const DrawSite> /*rows*/, std::int64_t first_id,
               const at::Tensor& logits) override {
    const at::Tensor ids = at::arange(first_id, first_id + logits.size(1));
    logits.masked_fill_((ids % 3 == 0).unsqueeze(0), -INFINITY);
    widest = std::max(widest, logits.size(1));
  }

  std::int64_t widest = 0;
};

TEST(GuidedGroupTest, BlockProcessorsChangeTheLogitsOfAGroupAsThoseOfOneRank) {
  const MadeFolder folder(world(), kModel);
  const LanguageModel alone = LanguageModel::open(folder.path());
  Thirds thirds;
  const auto expected = generate(alone, {{&thirds}}, kWays[1]);
  for (const Completion& completion : expected)
    for (const std::int64_t id : completion.ids)
      EXPECT_NE(id % 3, 0);
  EXPECT_LT(thirds.widest, 9000) << "no whole row";
  for (const Split split : {Split::pipeline, Split::tensor}) {
    const ModelGroup group = open_group(folder.path(), split);

    expect_completions(generate(group.model(), {{&thirds}}, kWays[1]), expected,
                       split == Split::pipeline ? 0.0F : 1e-5F);
  }
}

TEST(GuidedGroupTest, OffsetsOfZeroKeepTheBytesOfAGroup) {
  const MadeFolder folder(world(), kModel);
  const MadeFolder guide_folder(world(), kGuide);
  const LanguageModel second = LanguageModel::open(guide_folder.path());
  for (const Split split : {Split::pipeline, Split::tensor}) {
    const ModelGroup group = open_group(folder.path(), split);
    for (const SamplingConfig& sampling : {SamplingConfig{}, SamplingConfig{.is_greedy = false},
                                           SamplingConfig{.is_greedy = false, .top_p = 0.9}}) {
      ToyGuide idle(second, kGuidePages, 7, 0.0);

      expect_completions(generate(group.model(), {{}, &idle}, sampling),
                         generate(group.model(), {}, sampling), 0.0F);
    }
  }
}

}  // namespace
}  // namespace mgpu::lm
