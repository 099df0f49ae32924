// Tests logit processors: some that change nothing, the same change in two ways, and a second model
// compared with separate forward passes.
#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/generator.hpp>

#include "golden_folder.hpp"
#include "golden_model.hpp"
#include "lm/decode/changed_logits.hpp"
#include "toy_guide.hpp"

namespace mgpu::lm {
namespace {

/// Returns the completions as texts: ids with the exact bits of their log-probabilities.
std::vector<std::string> generate(const LanguageModel& model, const GenerationConfig& config,
                                  const std::vector<Ids>& ids, std::int64_t samples = 2) {
  std::vector<Prompt> prompts;
  for (std::size_t p = 0; p < ids.size(); ++p)
    prompts.push_back({p * 100, ids[p], samples});
  std::vector<std::string> texts;
  for (const PromptResult& result : Generator(model, config).run(prompts))
    for (const Completion& completion : result.completions) {
      std::string text;
      for (std::size_t i = 0; i < completion.ids.size(); ++i)
        text += std::to_string(completion.ids[i]) + ":" +
                std::to_string(std::bit_cast<std::uint32_t>(completion.log_probs[i])) + " ";
      texts.push_back(text);
    }
  return texts;
}

/// Returns configs: greedy, sampling from all tokens, from the 5 best and from a nucleus, with and
/// without a penalty.
std::vector<GenerationConfig> ways_to_draw() {
  std::vector<GenerationConfig> ways;
  for (const double penalty : {1.0, 1.2})
    for (const SamplingConfig& sampling :
         {SamplingConfig{}, SamplingConfig{.is_greedy = false, .temperature = 0.8},
          SamplingConfig{.is_greedy = false, .top_k = 5},
          SamplingConfig{.is_greedy = false, .temperature = 1.3, .top_p = 0.9}}) {
      GenerationConfig config;
      config.sampling = sampling;
      config.sampling.repetition_penalty = penalty;
      config.sampling.seed = 3;
      config.max_new_tokens = 8;
      config.page_tokens = 4;
      config.batch_size = 5;
      ways.push_back(config);
    }
  return ways;
}

/// A candidate processor without a model.
template <class Offsets>
class Candidates : public CandidateProcessor {
public:
  Candidates(std::int64_t count, Offsets offsets) : count_(count), offsets_(offsets) {}
  std::int64_t candidates() const override { return count_; }
  at::Tensor offsets(std::span<const DrawSite> rows, const at::Tensor& ids,
                     const at::Tensor& logits) override {
    EXPECT_EQ(static_cast<std::int64_t>(rows.size()), ids.size(0));
    return offsets_(ids, logits);
  }

private:
  std::int64_t count_;
  Offsets offsets_;
};

template <class Change>
class Blocks : public BlockProcessor {
public:
  explicit Blocks(Change change) : change_(change) {}
  void process(std::span<const DrawSite> rows, std::int64_t first_id,
               const at::Tensor& logits) override {
    EXPECT_EQ(static_cast<std::int64_t>(rows.size()), logits.size(0));
    change_(first_id, logits);
  }

private:
  Change change_;
};

TEST(LogitProcessorsTest, OffsetsOfZeroAndIdleProcessorsGiveTheSameBytes) {
  const LanguageModel model = open_golden("llama");
  const std::vector<Ids> ids = make_prompts(5);
  Blocks idle([](std::int64_t, const at::Tensor&) {});
  Candidates zero(7, [](const at::Tensor& best, const at::Tensor&) {
    return at::zeros(best.sizes(), at::kFloat);
  });
  for (GenerationConfig config : ways_to_draw()) {
    const auto expected = generate(model, config, ids);

    config.processors = {{&idle}, &zero};

    EXPECT_EQ(generate(model, config, ids), expected)
        << config.sampling.top_k << " " << config.sampling.top_p;
  }
}

// Adds the same offsets to the logits of the same tokens, once as candidates and once by blocks.
TEST(LogitProcessorsTest, OffsetsOfCandidatesAreThoseOfTheirTokens) {
  const LanguageModel model = open_golden("llama");
  const std::vector<Ids> ids = make_prompts(4);
  const auto offset_of = [](const at::Tensor& tokens) {
    return (tokens % 5 - 2).to(at::kFloat) * 0.75;
  };
  Candidates by_candidates(
      67, [&](const at::Tensor& best, const at::Tensor&) { return offset_of(best).contiguous(); });
  Blocks by_blocks([&](std::int64_t first_id, const at::Tensor& logits) {
    logits.add_(offset_of(at::arange(first_id, first_id + logits.size(1))));
  });
  for (GenerationConfig config : ways_to_draw()) {
    const auto plain = generate(model, config, ids);
    config.processors = {{}, &by_candidates};
    const auto offset = generate(model, config, ids);

    config.processors = {{&by_blocks}, nullptr};

    EXPECT_EQ(generate(model, config, ids), offset);
    EXPECT_NE(offset, plain);
  }
}

TEST(LogitProcessorsTest, ForbiddenCandidatesLeaveTheNextBest) {
  const LanguageModel model = open_golden("gpt2");
  const at::Tensor hidden = at::sin(at::arange(5 * model.config().hidden_size).to(at::kFloat))
                                .view({5, model.config().hidden_size});
  const std::vector<DrawSite> sites(5);
  const HeadResult head = apply_head(model, hidden, {}, 4);
  Candidates forbid(3, [&](const at::Tensor& best, const at::Tensor& logits) {
    EXPECT_TRUE(at::equal(best, head.best_ids.narrow(1, 0, 3)));
    EXPECT_TRUE(at::equal(logits, head.best_logits.narrow(1, 0, 3)));
    return at::full(best.sizes(), -INFINITY, at::kFloat);
  });

  const auto drawn = Sampler({}).draw(model, hidden, sites, {{}, &forbid});

  for (std::int64_t n = 0; n < 5; ++n) {
    EXPECT_EQ(drawn[static_cast<std::size_t>(n)].id, head.best_ids[n][3].item<std::int64_t>());
    const float log_prob = head.best_logits[n][3].item<float>() - head.log_sums[n].item<float>();
    EXPECT_EQ(drawn[static_cast<std::size_t>(n)].log_prob, log_prob);
  }
}

/// Returns the bits of float32 values.
std::vector<std::int32_t> bits_of(const at::Tensor& values) {
  const at::Tensor bits = values.contiguous().view(at::kInt).flatten();
  return {bits.const_data_ptr<std::int32_t>(), bits.const_data_ptr<std::int32_t>() + bits.numel()};
}

TEST(LogitProcessorsTest, LogitsOfOtherTokensKeepTheirBits) {
  constexpr std::int64_t kFirst = 40;
  at::manual_seed(3);
  const at::Tensor before = at::randn({3, 16}) * 30.0;
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> special{-0.0F, 0.0F, 1e-42F, -infinity, infinity, 3e38F};
  for (std::size_t i = 0; i < special.size(); ++i) {
    before[0][static_cast<std::int64_t>(i)].fill_(special[i]);
    before[1][static_cast<std::int64_t>(special.size() - 1 - i)].fill_(special[i]);
  }
  const LogitsPiece piece{before.clone(), 1, kFirst};  // rows 1 to 3 of a draw of 4
  // Some candidates are in other blocks of the vocabulary, and -1 is no candidate.
  const at::Tensor ids = at::tensor({41, 42, 43, -1, 7, 90, 50, 55, 49, -1, 46, 47}).view({4, 3});
  add_offsets({ids, at::randn({4, 3}) + 100.0, {}}, piece);
  const auto old_bits = bits_of(before);
  const auto new_bits = bits_of(piece.logits);
  int changed = 0;
  for (std::size_t i = 0; i < old_bits.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i / 16) + 1;
    const std::int64_t id = kFirst + static_cast<std::int64_t>(i % 16);
    const bool is_candidate = ids[row].eq(id).any().item<bool>();
    EXPECT_EQ(new_bits[i] != old_bits[i], is_candidate) << row << " " << id;
    changed += is_candidate ? 1 : 0;
  }
  EXPECT_EQ(changed, 5);
}

TEST(LogitProcessorsTest, OffsetsThatCannotBeAreRefused) {
  const LanguageModel model = open_golden("gpt2");
  const at::Tensor hidden = at::ones({2, model.config().hidden_size});
  const std::vector<DrawSite> sites(2);
  Candidates other_shape(3, [](const at::Tensor&, const at::Tensor&) { return at::zeros({2}); });
  Candidates nan(3, [](const at::Tensor& best, const at::Tensor&) {
    return at::full(best.sizes(), NAN, at::kFloat);
  });
  for (const bool is_greedy : {true, false}) {
    const Sampler sampler({.is_greedy = is_greedy});

    EXPECT_THROW(sampler.draw(model, hidden, sites, {{}, &other_shape}), ShapeError);
    EXPECT_THROW(sampler.draw(model, hidden, sites, {{}, &nan}), Failure);
  }
}

TEST(LogitProcessorsTest, ARowWhoseTokensAreAllForbiddenIsRefused) {
  const LanguageModel model = open_golden("gpt2");
  const at::Tensor hidden = at::ones({1, model.config().hidden_size});
  const std::vector<DrawSite> sites(1);
  Blocks forbid([](std::int64_t, const at::Tensor& logits) { logits.fill_(-INFINITY); });
  for (const std::int64_t top_k : {0, 5, 2000}) {
    const Sampler sampler({.is_greedy = false, .top_k = top_k});

    EXPECT_THROW(sampler.draw(model, hidden, sites, {{&forbid}, nullptr}), Failure) << top_k;
  }
}

/// Compares the states of a second model with those of a forward pass for each candidate.
class ComparingGuide : public SecondModelProcessor {
public:
  using SecondModelProcessor::SecondModelProcessor;
  std::int64_t candidates() const override { return 6; }
  at::Tensor offsets(std::span<const DrawSite> rows, const at::Tensor& ids,
                     const at::Tensor& /*logits*/) override {
    const at::Tensor now = states(rows);
    const at::Tensor after = states_after(rows, ids);
    for (std::size_t n = 0; n < rows.size(); ++n) {
      const auto row = static_cast<std::int64_t>(n);
      Ids tokens(rows[n].context.begin(), rows[n].context.end());
      EXPECT_TRUE(at::equal(now[row], state_of(tokens)));
      tokens.push_back(0);
      for (std::int64_t k = 0; k < ids.size(1); ++k) {
        tokens.back() = ids[row][k].item<std::int64_t>();
        EXPECT_TRUE(at::equal(after[row][k], state_of(tokens)));
        ++compared;
      }
    }
    return after.select(2, 0).contiguous();
  }

  int compared = 0;

private:
  at::Tensor state_of(const Ids& tokens) const {
    const SequenceSpan run{tokens};
    return model().hidden({&run, 1})[-1];
  }
};

TEST(SecondModelTest, ForksInOnePassAreSeparateForwards) {
  const LanguageModel model = open_golden("llama");
  const LanguageModel second = open_golden("qwen2");
  std::vector<Ids> ids = make_prompts(4);
  for (Ids& prompt : ids)  // a shared prefix
    prompt.insert(prompt.begin(), {5, 10, 15, 20, 25, 30, 35, 40, 45});
  ComparingGuide guide(second, {256, 4}, 7);
  GenerationConfig config = ways_to_draw()[3];
  config.processors.candidate = &guide;

  generate(model, config, ids);

  EXPECT_EQ(guide.compared, 4 * 2 * 8 * 6);
}

class GuidedTest : public testing::TestWithParam<const char*> {};

TEST_P(GuidedTest, GuidedTokensDoNotDependOnTheBatch) {
  const LanguageModel model = open_golden("llama");
  const LanguageModel second = open_golden(GetParam());
  const std::vector<Ids> ids = make_prompts(5);
  ToyGuide guide(second, {512, 4}, 8, 1.5);
  const std::vector<GenerationConfig> ways = ways_to_draw();
  for (GenerationConfig config : {ways[0], ways[3], ways[5]}) {
    const auto plain = generate(model, config, ids);
    config.processors.candidate = &guide;
    const auto expected = generate(model, config, ids);
    EXPECT_NE(expected, plain);
    for (const std::int64_t batch : {1, 2, 16}) {
      config.batch_size = batch;
      config.prefill_tokens = batch == 2 ? 3 : 512;

      EXPECT_EQ(generate(model, config, ids), expected) << batch;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GuidedTest, testing::Values("gpt2", "mistral", "gpt_oss"),
                         [](const auto& entry) { return std::string(entry.param); });

TEST(SecondModelTest, AGuideGoesOnAfterAFailure) {
  const LanguageModel model = open_golden("llama");
  const LanguageModel second = open_golden("qwen2");
  const std::vector<Ids> ids = make_prompts(3);
  const Ids& prompt = ids[0];
  ToyGuide guide(second, {512, 4}, 8, 1.5);
  GenerationConfig config = ways_to_draw()[1];
  config.processors.candidate = &guide;
  const auto expected = generate(model, config, ids);
  int seen = 0;
  const StopText fails = [&](std::uint64_t, std::span<const std::int64_t>) -> bool {
    if (++seen == 3) throw Error("a client that fails");
    return false;
  };
  const Prompt once{0, prompt, 2};

  EXPECT_THROW(Generator(model, config, fails).run({&once, 1}), Error);

  EXPECT_EQ(generate(model, config, ids), expected);
}

}  // namespace
}  // namespace mgpu::lm
