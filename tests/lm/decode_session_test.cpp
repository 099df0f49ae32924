// Compares sequences of a decode session with the same tokens in one call of the model, and with
// the Generator.
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/lm/decode/generator.hpp>

#include "golden_folder.hpp"
#include "golden_model.hpp"

namespace mgpu::lm {
namespace {

at::Tensor last_of(const LanguageModel& model, const Ids& ids) {
  return hidden_of(model, ids).slice(0, -1);
}

at::Tensor embeddings_of(const LanguageModel& model, const Ids& ids) {
  return model.weights().embedding.index_select(0, at::tensor(ids, at::kLong)).to(at::kFloat);
}

SamplingConfig sampled() {
  return {
      .is_greedy = false, .temperature = 0.9, .top_p = 0.95, .repetition_penalty = 1.1, .seed = 5};
}

void run_passes(DecodeSession& session) {
  while (session.has_input())
    session.pass();
}

class DecodeSessionTest : public testing::TestWithParam<const char*> {
protected:
  LanguageModel model_ = open_golden(GetParam());
  DecodePool pool_{model_, {64, 4}};
};

TEST_P(DecodeSessionTest, PrefillsGiveTheStatesOfOneCall) {
  const Ids ids = make_ids(21, 3);
  for (const std::int64_t budget : {1, 4, 64}) {
    DecodeSession session(model_, pool_, {.prefill_tokens = budget});
    const std::int64_t by_ids = session.add();
    const std::int64_t by_embeddings = session.add();
    session.prefill(by_ids, ids);
    session.prefill(by_embeddings, embeddings_of(model_, ids));
    run_passes(session);
    const std::vector<std::int64_t> both{by_ids, by_embeddings};

    const at::Tensor states = session.hidden(both);

    EXPECT_TRUE(at::equal(states[0], last_of(model_, ids)[0])) << budget;
    EXPECT_TRUE(at::equal(states[1], states[0])) << budget;
    session.drop(by_ids);
    session.drop(by_embeddings);
  }
  EXPECT_EQ(pool_.cache().free_pages(), 64);
}

TEST_P(DecodeSessionTest, PiecesShowTheStateOfEveryTokenWhereThatIsAsked) {
  const Ids ids = make_ids(11, 4);
  DecodeSession session(model_, pool_, {.prefill_tokens = 4});
  const std::int64_t shown = session.add();
  session.prefill(shown, ids, {.shows_all = true});
  std::vector<at::Tensor> parts;
  std::int64_t seen = 0;
  while (session.has_input()) {
    const PassView& view = session.pass();
    ASSERT_EQ(view.pieces.size(), 1U);
    EXPECT_EQ(view.pieces[0].first, seen);
    seen += view.pieces[0].count;
    parts.push_back(view.hidden.narrow(0, view.pieces[0].row, view.pieces[0].rows));
  }

  EXPECT_TRUE(at::equal(at::cat(parts), hidden_of(model_, ids)));
}

/// Returns the embedding that a latent step feeds back.
at::Tensor next_embedding(const at::Tensor& state) {
  return state * 0.25;
}

TEST_P(DecodeSessionTest, LatentStepsAreOneForwardOfIdsAndEmbeddings) {
  const Ids ids = make_ids(6, 1);
  const Ids answer = make_ids(3, 2);
  DecodeSession session(model_, pool_, {});
  const std::vector<std::int64_t> sequence{session.add()};
  session.prefill(sequence[0], ids);
  run_passes(session);
  std::vector<at::Tensor> latents;
  for (int step = 0; step < 3; ++step) {
    latents.push_back(next_embedding(session.hidden(sequence)));
    session.prefill(sequence[0], latents.back());
    run_passes(session);
  }
  session.prefill(sequence[0], answer);
  run_passes(session);
  SequenceSpan whole{};
  whole.embeddings =
      at::cat({embeddings_of(model_, ids), at::cat(latents), embeddings_of(model_, answer)});

  const at::Tensor expected = model_.hidden({&whole, 1}).slice(0, -1);

  EXPECT_EQ(session.length(sequence[0]), 12);
  EXPECT_TRUE(at::equal(session.hidden(sequence), expected));
}

/// The tokens and log-probabilities that a session draws for one prompt.
struct Text {
  Ids ids;
  std::vector<float> log_probs;

  void add(const DrawnToken& token) {
    ids.push_back(token.id);
    log_probs.push_back(token.log_prob);
  }
  friend bool operator==(const Text&, const Text&) = default;
};

std::vector<Text> generated(const LanguageModel& model, const std::vector<Prompt>& prompts,
                            std::int64_t tokens) {
  GenerationConfig config;
  config.sampling = sampled();
  config.max_new_tokens = tokens;
  std::vector<Text> texts;
  for (const PromptResult& result : Generator(model, config).run(prompts))
    for (const Completion& completion : result.completions)
      texts.push_back({completion.ids, completion.log_probs});
  return texts;
}

TEST_P(DecodeSessionTest, SequencesThatComeBetweenStepsGetTheTokensOfTheGenerator) {
  const std::vector<Ids> ids = {make_ids(9, 0), make_ids(17, 1), make_ids(1, 2)};
  const std::vector<Prompt> prompts = {{100, ids[0]}, {200, ids[1]}, {300, ids[2]}};
  DecodeSession session(model_, pool_, {.sampling = sampled(), .prefill_tokens = 6});
  std::vector<Text> texts(3);
  std::vector<std::int64_t> all;

  // Adds a sequence every second step while the others continue.
  for (std::size_t step = 0; step < 12; ++step) {
    if (step % 2 == 0 && all.size() < 3) {
      all.push_back(session.add(100 * (all.size() + 1)));
      session.prefill(all.back(), ids[all.size() - 1]);
    }
    session.pass();
    std::vector<std::int64_t> drawing;
    std::vector<std::size_t> texts_of;
    for (std::size_t s = 0; s < all.size(); ++s) {
      if (session.is_waiting(all[s])) continue;
      drawing.push_back(all[s]);
      texts_of.push_back(s);
    }
    session.draw(drawing);
    const std::optional<Drawn> drawn = session.take();
    ASSERT_TRUE(drawn);
    for (std::size_t i = 0; i < drawing.size(); ++i)
      texts[texts_of[i]].add(drawn->tokens[i]);
  }

  for (std::size_t s = 0; s < 3; ++s) {
    const auto count = static_cast<std::int64_t>(texts[s].ids.size());
    ASSERT_GE(count, 6);
    EXPECT_EQ(texts[s], generated(model_, {prompts[s]}, count)[0]) << s;
  }
}

/// Returns the tokens of a fork during six steps. The fork starts after two steps of its origin,
/// and continues together with the origin and `siblings` other forks, or alone if `siblings` is 0.
Text child_of(const LanguageModel& model, std::int64_t siblings) {
  DecodePool pool(model, {128, 4});
  DecodeSession session(model, pool, {.sampling = sampled(), .prefill_tokens = 5});
  std::vector<std::int64_t> growing{session.add(7)};
  session.prefill(growing[0], make_ids(5, 3));
  session.step(growing);
  session.step(growing);  // the fork has pending input
  growing.push_back(session.fork(growing[0], 1000));
  for (std::int64_t s = 0; s < siblings; ++s)
    growing.push_back(session.fork(growing[0], static_cast<std::uint64_t>(s)));
  if (siblings == 0) {
    session.drop(growing[0]);
    growing.erase(growing.begin());
  }
  const std::size_t place = siblings == 0 ? 0 : 1;
  Text text;
  for (int step = 0; step < 6; ++step)
    text.add(session.step(growing)[place]);
  return text;
}

TEST_P(DecodeSessionTest, AForkAloneIsTheForkBesideItsSiblings) {
  const Text alone = child_of(model_, 0);

  EXPECT_EQ(alone.ids.size(), 6U);
  EXPECT_EQ(child_of(model_, 1), alone);
  EXPECT_EQ(child_of(model_, 7), alone);
}

TEST_P(DecodeSessionTest, FedTokensOfForksGiveTheStatesOfSeparateForwards) {
  const Ids prompt = make_ids(10, 3);
  DecodeSession session(model_, pool_, {.prefill_tokens = 3});
  const std::int64_t origin = session.add();
  session.prefill(origin, prompt);
  run_passes(session);
  const Ids nexts = make_ids(20, 5);
  std::vector<std::int64_t> forks;
  for (std::size_t i = 0; i < nexts.size(); ++i)
    forks.push_back(session.fork(origin, 0));
  session.feed(forks, at::tensor(nexts, at::kLong));
  session.pass();
  EXPECT_FALSE(session.has_input()) << "all forks go in one pass, beyond prefill_tokens";

  const at::Tensor states = session.hidden(forks);

  for (std::size_t i = 0; i < nexts.size(); ++i) {
    Ids whole = prompt;
    whole.push_back(nexts[i]);
    EXPECT_TRUE(at::equal(states[static_cast<std::int64_t>(i)], last_of(model_, whole)[0])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, DecodeSessionTest,
                         testing::Values("gpt2", "gpt_oss", "llama_llama3", "mistral",
                                         "qwen3_switches"),
                         [](const auto& entry) { return std::string(entry.param); });

TEST(DecodeSessionTest, WhatCannotBeIsRefused) {
  const LanguageModel model = open_golden("llama");
  DecodePool pool(model, {2, 4});
  DecodeSession session(model, pool, {});
  const std::vector<std::int64_t> one{session.add()};
  const Ids five = make_ids(5, 0);

  EXPECT_THROW(session.prefill(9, five), Error);
  EXPECT_THROW(session.hidden(one), Error) << "a sequence without tokens";
  EXPECT_THROW(session.feed(one, at::zeros({2}, at::kLong)), ShapeError);
  EXPECT_THROW(session.prefill(one[0], at::zeros({5})), ShapeError);
  EXPECT_THROW(session.take(), Error);
  session.prefill(one[0], five);
  EXPECT_THROW(session.prefill(one[0], five), Error) << "behind input that waits";
  EXPECT_THROW(session.hidden(one), Error);
  EXPECT_THROW(session.draw(one), Error);
  session.pass();
  session.prefill(one[0], five);
  EXPECT_THROW(session.pass(), ShapeError) << "10 tokens in 2 pages of 4";
  EXPECT_THROW(DecodeSession(model, pool, {.prefill_tokens = -1}), Error);
}

}  // namespace
}  // namespace mgpu::lm
