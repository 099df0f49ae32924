// Compares the KL divergence between two models with float64 goldens of PyTorch.
#include <cmath>
#include <limits>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/token_divergence.hpp>

#include "golden_folder.hpp"
#include "golden_model.hpp"
#include "lm/decode/divergence_sums.hpp"
#include "lm/decode/online_logits.hpp"
#include "made_folder.hpp"
#include "support/project_folder.hpp"

namespace mgpu::lm {
namespace {

using Sequence = SequenceDivergence::Sequence;
constexpr std::size_t kPrompt =
    5;  // tokens of the prompt, as in tests/oracle/divergence_goldens.py

class TokenDivergenceTest : public testing::Test {
protected:
  TokenDivergenceTest()
      : file_(testing_support::lm_goldens() / "divergence.safetensors"),
        ids_(values_of<std::int64_t>(*file_.find("ids"))) {}

  std::vector<double> golden(const std::string& name) const {
    return values_of<double>(*file_.find(name));
  }

  Sequence sequence() const {
    return {std::span(ids_).first(kPrompt), std::span(ids_).subspan(kPrompt)};
  }

  std::vector<double> divergence(const LanguageModel& model, const LanguageModel& reference,
                                 double temperature) const {
    SequenceDivergence divergence(model, reference, temperature, 4);
    return divergence.run(std::vector{sequence()}).front();
  }

  formats::SafetensorsFile file_;
  std::vector<std::int64_t> ids_;
};

TEST_F(TokenDivergenceTest, IsThatOfPyTorch) {
  for (const auto& [mine, theirs] : std::vector<std::pair<std::string, std::string>>{
           {"llama", "qwen2"}, {"qwen2", "llama"}, {"gpt2", "mistral"}, {"qwen3", "qwen3"}}) {
    const LanguageModel model = open_golden(mine);
    const LanguageModel reference = open_golden(theirs);
    for (const auto& [temperature, text] :
         std::vector<std::pair<double, std::string>>{{1.0, "1.0"}, {0.7, "0.7"}, {2.5, "2.5"}}) {
      const std::string name = mine + "." + theirs + "." + text;
      const std::vector<double> expected = golden(name);
      const std::vector<double> found = divergence(model, reference, temperature);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 1e-5 * (1.0 + expected[i])) << name << " " << i;
    }
  }
}

TEST_F(TokenDivergenceTest, AModelDoesNotDivergeFromItself) {
  const LanguageModel model = open_golden("llama");
  const LanguageModel same = open_golden("llama");
  EXPECT_THAT(divergence(model, same, 0.7), testing::Each(0.0));
}

TEST_F(TokenDivergenceTest, BatchesBlocksAndNeighborsDoNotChangeTheBits) {
  LanguageModel model = open_golden("llama");
  LanguageModel reference = open_golden("qwen2");
  const std::vector<double> alone = divergence(model, reference, 0.7);
  const std::vector<Ids> others = make_prompts(6);
  std::vector<Sequence> sequences;
  for (const Ids& other : others)
    sequences.push_back({std::span(other).first(1), std::span(other).subspan(1)});
  sequences.insert(sequences.begin() + 3, sequence());
  for (const std::int64_t batch : {1, 2, 5, 16}) {
    SequenceDivergence divergence(model, reference, 0.7, batch);
    const auto all = divergence.run(sequences);
    ASSERT_EQ(all.size(), sequences.size());
    EXPECT_EQ(all[3], alone) << batch;
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_EQ(all[i].size(), sequences[i].completion.size());
  }
}

TEST(DivergenceSumsTest, TensorsGiveTheSumsOfRows) {
  const at::Tensor p = 4.0 * at::randn({7, 90}, at::make_generator<at::CPUGeneratorImpl>(3));
  const at::Tensor q = 4.0 * at::randn({7, 90}, at::make_generator<at::CPUGeneratorImpl>(4));
  std::vector<DivergenceSums> by_rows(7);
  std::vector<DivergenceSums> by_tensors(7);
  for (const auto& [first, count] :
       std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 40}, {40, 1}, {41, 49}}) {
    const at::Tensor p_block = p.narrow(1, first, count).contiguous();
    const at::Tensor q_block = q.narrow(1, first, count).contiguous();
    add_by_rows(p_block, q_block, 0.7, by_rows);
    add_by_tensors(p_block, q_block, 0.7, by_tensors);
  }
  for (std::size_t n = 0; n < by_rows.size(); ++n)
    EXPECT_NEAR(by_tensors[n].divergence(), by_rows[n].divergence(),
                1e-13 * by_rows[n].divergence());
  std::vector<DivergenceSums> same(7);
  add_by_tensors(p, p, 0.7, same);
  for (const DivergenceSums& row : same)
    EXPECT_EQ(row.divergence(), 0.0);
}

TEST(DivergenceSumsTest, ATokenThatAnOffsetForbidsAddsNothing) {
  const at::Tensor p =
      at::tensor({0.5F, -std::numeric_limits<float>::infinity(), 1.5F}).view({1, 3});
  const at::Tensor q = at::tensor({0.25F, 2.0F, -1.0F}).view({1, 3});
  std::vector<DivergenceSums> by_rows(1);
  std::vector<DivergenceSums> by_tensors(1);
  add_by_rows(p, q, 1.0, by_rows);
  add_by_tensors(p, q, 1.0, by_tensors);
  const at::Tensor log_p = at::log_softmax(p.to(at::kDouble), 1);
  const at::Tensor log_q = at::log_softmax(q.to(at::kDouble), 1);
  const double expected =
      (log_p.exp() * (log_p - log_q)).index({0, at::tensor({0, 2})}).sum().item<double>();
  EXPECT_NEAR(by_rows[0].divergence(), expected, 1e-14);
  EXPECT_NEAR(by_tensors[0].divergence(), expected, 1e-14);
}

// A processor may forbid all tokens of a block of the vocabulary.
TEST(DivergenceSumsTest, ABlockOfForbiddenTokensAddsNothing) {
  const float none = -std::numeric_limits<float>::infinity();
  const at::Tensor p = at::tensor({none, none, 0.5F, 1.5F, none, none}).view({1, 6});
  const at::Tensor q = at::tensor({none, none, 0.25F, -1.0F, 2.0F, 1.0F}).view({1, 6});
  const at::Tensor both = at::tensor({2, 3});
  const at::Tensor log_p = at::log_softmax(p.to(at::kDouble), 1).index({0, both});
  const at::Tensor log_q = at::log_softmax(q.to(at::kDouble), 1).index({0, both});
  const double expected = (log_p.exp() * (log_p - log_q)).sum().item<double>();
  for (const auto add : {add_by_rows, add_by_tensors}) {
    std::vector<DivergenceSums> sums(1);
    std::vector<DivergenceSums> first(1);
    for (const std::int64_t begin : {0, 2, 4})
      add(p.narrow(1, begin, 2).contiguous(), q.narrow(1, begin, 2).contiguous(), 1.0, sums);
    add(p.narrow(1, 0, 2).contiguous(), q.narrow(1, 0, 2).contiguous(), 1.0, first);
    first[0].add(sums[0]);
    EXPECT_NEAR(sums[0].divergence(), expected, 1e-14);
    EXPECT_EQ(first[0].divergence(), sums[0].divergence());
  }
}

TEST(LargeVocabularyTest, BlocksOfTheVocabularyAddUp) {
  const testing_support::TemporaryFolder folder;
  const auto open = [&](const std::string& name, double spread) {
    fs::create_directory(folder.path() / name);
    make_folder(folder.path() / name, {.layers = 1, .vocab = 9001, .head_spread = spread});
    return LanguageModel::open(folder.path() / name);
  };
  const LanguageModel model = open("model", 0.4);  // 9001 tokens are three blocks
  const LanguageModel reference = open("reference", 0.2);
  const std::vector<std::int64_t> ids = {5, 8999, 4031, 4032, 17, 12};
  const auto log_probs = [&](const LanguageModel& of) {
    std::vector<at::Tensor> blocks;
    for_each_piece(of, hidden_of(of, ids),
                   [&](const LogitsPiece& piece) { blocks.push_back(piece.logits); });
    EXPECT_EQ(blocks.size(), 3U);
    return at::log_softmax(at::cat(blocks, 1).to(at::kDouble) / 0.7, 1);
  };
  const at::Tensor p = log_probs(model);
  const at::Tensor expected = (p.exp() * (p - log_probs(reference))).sum(1);
  const std::vector<double> found =
      token_divergence({model, hidden_of(model, ids)}, {reference, hidden_of(reference, ids)}, 0.7);
  ASSERT_EQ(found.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i)
    EXPECT_NEAR(found[i], expected[static_cast<std::int64_t>(i)].item<double>(), 1e-12);
}

TEST_F(TokenDivergenceTest, OtherVocabulariesAreRefused) {
  const LanguageModel model = open_golden("llama");
  const at::Tensor two = at::zeros({2, model.config().hidden_size});
  EXPECT_THROW(token_divergence({model, two}, {model, two.narrow(0, 0, 1)}, 1.0), ShapeError);
  EXPECT_TRUE(
      token_divergence({model, two.narrow(0, 0, 0)}, {model, two.narrow(0, 0, 0)}, 1.0).empty());
}

}  // namespace
}  // namespace mgpu::lm
