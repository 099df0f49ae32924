// Compares the KL divergence between models on groups of ranks with that of one rank.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/lm/decode/token_divergence.hpp>
#include <mgpu/lm/parallel/model_group.hpp>

#include "golden_model.hpp"
#include "made_folder.hpp"

namespace mgpu::lm {
namespace {

class TokenDivergenceGroupTest : public testing::Test {
protected:
  TokenDivergenceGroupTest()
      : model_(world_, {.layers = 4, .heads = 8, .kv_heads = 4}),
        reference_(world_, {.layers = 5, .heads = 8, .kv_heads = 4, .head_spread = 0.3}) {}

  using Divergences = std::vector<std::vector<double>>;

  static Divergences run(const LanguageModel& model, const LanguageModel& reference) {
    const std::vector<Ids> ids = make_prompts(5);
    std::vector<SequenceDivergence::Sequence> sequences;
    for (const Ids& all : ids)
      sequences.push_back({std::span(all).first(1), std::span(all).subspan(1)});
    return SequenceDivergence(model, reference, 0.8, 3).run(sequences);
  }

  Divergences of_group(Split split) const {
    ModelGroup::Options options;
    options.plan = {split, {}};
    options.communicator.timeout_s = 60.0;
    const cluster::Topology topology(world_, world_.size());
    const ModelGroup model = ModelGroup::open(model_.path(), topology, options);
    const ModelGroup reference = ModelGroup::open(reference_.path(), topology, options);
    return run(model.model(), reference.model());
  }

  Divergences of_one() const {
    return run(LanguageModel::open(model_.path()), LanguageModel::open(reference_.path()));
  }

  const cluster::Group world_ = cluster::Group::world();
  const MadeFolder model_;
  const MadeFolder reference_;
};

TEST_F(TokenDivergenceGroupTest, APipelineGivesTheBitsOfOneRankOnAllRanks) {
  EXPECT_EQ(of_group(Split::pipeline), of_one());
}

TEST_F(TokenDivergenceGroupTest, ATensorParallelGroupGivesTheSameUpToRounding) {
  const Divergences found = of_group(Split::tensor);
  const Divergences expected = of_one();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t s = 0; s < found.size(); ++s) {
    ASSERT_EQ(found[s].size(), expected[s].size());
    for (std::size_t i = 0; i < found[s].size(); ++i)
      EXPECT_NEAR(found[s][i], expected[s][i], 1e-5 * (1.0 + expected[s][i]));
  }
}

}  // namespace
}  // namespace mgpu::lm
