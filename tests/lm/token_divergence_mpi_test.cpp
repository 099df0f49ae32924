// Compares the KL divergence between models on groups of ranks with that of one rank.
#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/lm/decode/token_divergence.hpp>
#include <mgpu/lm/parallel/model_group.hpp>

#include "golden_model.hpp"
#include "known_offsets.hpp"
#include "made_folder.hpp"

namespace mgpu::lm {
namespace {

class TokenDivergenceGroupTest : public testing::Test {
protected:
  TokenDivergenceGroupTest()
      : model_(world_, {.layers = 4, .heads = 8, .kv_heads = 4}),
        reference_(world_, {.layers = 5, .heads = 8, .kv_heads = 4, .head_spread = 0.3}) {}

  using Divergences = std::vector<std::vector<double>>;
  using Of = Divergences(const LanguageModel& model, const LanguageModel& reference);

  static Divergences run(const LanguageModel& model, const LanguageModel& reference) {
    const std::vector<Ids> ids = make_prompts(5);
    std::vector<SequenceDivergence::Sequence> sequences;
    for (const Ids& all : ids)
      sequences.push_back({std::span(all).first(1), std::span(all).subspan(1)});
    return SequenceDivergence(model, reference, 0.8, 3).run(sequences);
  }

  Divergences of_group(Split split, Of* of = run) const {
    ModelGroup::Options options;
    options.plan = {split, {}};
    options.communicator.timeout_s = 60.0;
    const cluster::Topology topology(world_, world_.size());
    const ModelGroup model = ModelGroup::open(model_.path(), topology, options);
    const ModelGroup reference = ModelGroup::open(reference_.path(), topology, options);
    return of(model.model(), reference.model());
  }

  Divergences of_one(Of* of = run) const {
    return of(LanguageModel::open(model_.path()), LanguageModel::open(reference_.path()));
  }

  /// Returns two KL divergences of guided draws: that from the model, which the draws record, and
  /// that from the reference, which a second pass computes.
  static Divergences draw(const LanguageModel& model, const LanguageModel& reference) {
    KnownOffsets offsets(20, wave);
    GenerationConfig config;
    config.sampling = {.is_greedy = false, .temperature = 0.8, .top_k = 1, .seed = 5};
    config.max_new_tokens = 6;
    config.batch_size = 3;
    config.processors.candidate = &offsets;
    const std::vector<Ids> ids = make_prompts(5);
    std::vector<Prompt> prompts;
    for (std::size_t p = 0; p < ids.size(); ++p)
      prompts.push_back({p * 10, ids[p], 2});
    const std::vector<PromptResult> results = Generator(model, config).run(prompts);
    Divergences all;
    std::vector<SequenceDivergence::Sequence> sequences;
    for (std::size_t p = 0; p < results.size(); ++p)
      for (std::size_t c = 0; c < 2; ++c) {
        const Completion& completion = results[p].completions[c];
        all.push_back(completion.divergences);
        sequences.push_back({ids[p], completion.ids, p * 10 + c});
      }
    SequenceDivergence divergence(model, reference, 0.8, 3);
    divergence.use_offsets(offsets.record);
    for (std::vector<double>& values : divergence.run(sequences))
      all.push_back(std::move(values));
    return all;
  }

  const cluster::Group world_ = cluster::Group::world();
  const MadeFolder model_;
  const MadeFolder reference_;
};

TEST_F(TokenDivergenceGroupTest, APipelineGivesTheBitsOfOneRankOnAllRanks) {
  EXPECT_EQ(of_group(Split::pipeline), of_one());
}

TEST_F(TokenDivergenceGroupTest, DrawsWithOffsetsHaveTheBitsOfOneRankInAPipeline) {
  EXPECT_EQ(of_group(Split::pipeline, draw), of_one(draw));
}

void expect_near(const std::vector<std::vector<double>>& found,
                 const std::vector<std::vector<double>>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t s = 0; s < found.size(); ++s) {
    ASSERT_EQ(found[s].size(), expected[s].size());
    for (std::size_t i = 0; i < found[s].size(); ++i)
      EXPECT_NEAR(found[s][i], expected[s][i], 1e-5 * (1.0 + expected[s][i]));
  }
}

TEST_F(TokenDivergenceGroupTest, ATensorParallelGroupGivesTheSameUpToRounding) {
  expect_near(of_group(Split::tensor), of_one());
}

TEST_F(TokenDivergenceGroupTest, DrawsWithOffsetsAreNearThoseOfOneRankInATensorGroup) {
  expect_near(of_group(Split::tensor, draw), of_one(draw));
}

}  // namespace
}  // namespace mgpu::lm
