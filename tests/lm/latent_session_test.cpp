// Compares latent steps with transformers, with one call of the model, and with a path alone.
#include <filesystem>
#include <string>
#include <vector>

#include <ATen/ATen.h>

#include <gtest/gtest.h>

#include <mgpu/lm/decode/latent_session.hpp>

#include "golden_folder.hpp"
#include "golden_model.hpp"
#include "made_folder.hpp"
#include "support/project_folder.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kSteps = 3;
const std::vector<Ids> kPrompts = {{1, 40, 3, 22, 9, 5, 61}, {17, 2, 30, 44, 8}, {50, 12, 7, 33}};

at::Tensor golden_floats(const formats::SafetensorsFile& file, const std::string& name) {
  const formats::StoredTensor* stored = file.find(name);
  const auto values = values_of<float>(*stored);
  return at::tensor(values).view(stored->shape);
}

double distance(const at::Tensor& ours, const at::Tensor& theirs) {
  return (ours - theirs).abs().max().item<double>() / theirs.abs().max().item<double>();
}

class LatentSessionTest : public testing::TestWithParam<const char*> {
protected:
  const formats::SafetensorsFile file_{testing_support::lm_goldens() / "latent.safetensors"};
  const LanguageModel model_ = open_golden(GetParam());
  const Realignment realignment_ = Realignment::solve(model_);
};

TEST_P(LatentSessionTest, TheMapIsThatOfTransformers) {
  const std::string name = GetParam();

  EXPECT_LE(distance(realignment_.matrix(), golden_floats(file_, name + ".matrix")), 1e-4);
  EXPECT_NEAR(realignment_.mean_norm(), values_of<double>(*file_.find(name + ".norm"))[0], 1e-5);
}

/// Returns a sequence with the tokens that the next agent sees: for `carry` "all" the same
/// sequence, and otherwise a copy that replaces it. The copy has the tokens of the ranges
/// `latents`, or for "last_agent" those from token `own` on. Then sets `latents` to all tokens of
/// the copy.
std::int64_t carried(DecodeSession& session, std::int64_t sequence, const std::string& carry,
                     std::vector<Range>& latents, std::int64_t own) {
  if (carry == "all") return sequence;
  if (carry == "last_agent") latents = {{own, session.length(sequence)}};
  const std::int64_t copy = session.fork_tokens(sequence, latents, 0);
  session.drop(sequence);
  latents = {{0, session.length(copy)}};
  return copy;
}

TEST_P(LatentSessionTest, AgentsThinkAndAnswerAsInTransformers) {
  for (const std::string carry : {"all", "latent_only", "last_agent"}) {
    LatentSession latents(model_, realignment_, {});
    latents.run({32, 4, 8}, [&](DecodeSession& session) {
      std::int64_t sequence = session.add();
      std::vector<Range> thought;
      std::vector<at::Tensor> states;
      for (std::size_t agent = 0; agent < 2; ++agent) {
        const std::int64_t own = session.length(sequence);
        session.prefill(sequence, kPrompts[agent]);
        latents.read_input();
        const std::int64_t first = session.length(sequence);
        thought.push_back({first, first + kSteps});
        states.push_back(latents.think({&sequence, 1}, kSteps)[0]);
        sequence = carried(session, sequence, carry, thought, own);
      }
      session.prefill(sequence, kPrompts[2]);
      latents.read_input();
      const std::string name = std::string(GetParam()) + "." + carry;
      EXPECT_LE(distance(at::stack(states), golden_floats(file_, name + ".states")), 1e-4) << name;
      const Ids greedy = values_of<std::int64_t>(*file_.find(name + ".greedy"));
      ASSERT_FALSE(greedy.empty());
      latents.complete({sequence}, std::ssize(greedy), [&](std::size_t, Completion completion) {
        EXPECT_EQ(completion.ids, greedy) << name;
      });
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Families, LatentSessionTest, testing::Values("gpt2", "llama", "qwen3"),
                         [](const auto& tested) { return std::string(tested.param); });

/// The states of two agents, and the tokens drawn after them.
struct Thoughts {
  at::Tensor states;  // [2, M, D]
  Ids ids;
};

/// Returns the thoughts of a path without noise that thinks together with `siblings` noisy forks.
Thoughts thoughts_of(const LanguageModel& model, std::int64_t siblings) {
  const Realignment realignment = Realignment::solve(model);
  LatentSession latents(model, realignment,
                        {.sampling = {.is_greedy = false, .seed = 4}, .prefill_tokens = 5});
  Thoughts thoughts;
  latents.run({256, 4, 8}, [&](DecodeSession& session) {
    const std::int64_t origin = session.add();
    session.prefill(origin, kPrompts[0]);
    latents.read_input();
    std::vector<std::int64_t> paths;
    for (std::int64_t s = 0; s <= siblings; ++s)
      paths.push_back(session.fork(origin, static_cast<std::uint64_t>(100 + s)));
    session.drop(origin);
    const auto change = [](std::int64_t step, const at::Tensor& states) {
      for (std::int64_t s = 0; s < states.size(0); ++s)
        states[s].add_(0.1 * static_cast<double>(s * step));
    };
    std::vector<at::Tensor> states{latents.think(paths, kSteps, change)[0]};
    for (const std::int64_t path : paths)
      session.prefill(path, kPrompts[1]);
    latents.read_input();
    states.push_back(latents.think(paths, kSteps, change)[0]);
    thoughts.states = at::stack(states);
    latents.complete(paths, 6, [&](std::size_t index, Completion completion) {
      if (index == 0) thoughts.ids = completion.ids;
    });
    EXPECT_EQ(session.has_input(), false);
  });
  return thoughts;
}

TEST(LatentPathTest, APathAloneIsThePathBesideItsSiblings) {
  const LanguageModel model = open_golden("llama");
  const Thoughts alone = thoughts_of(model, 0);

  for (const std::int64_t siblings : {1, 6}) {
    const Thoughts beside = thoughts_of(model, siblings);
    EXPECT_TRUE(at::equal(beside.states, alone.states)) << siblings;
    EXPECT_EQ(beside.ids, alone.ids) << siblings;
  }
}

/// Returns the hidden state after a prompt that follows the mean of sequences with `prompts`.
at::Tensor after_mean(const LanguageModel& model, const std::vector<Ids>& prompts) {
  const Realignment realignment = Realignment::solve(model);
  LatentSession latents(model, realignment, {});
  at::Tensor hidden;
  latents.run({64, 4, 8}, [&](DecodeSession& session) {
    std::vector<std::int64_t> origins;
    for (const Ids& prompt : prompts) {
      origins.push_back(session.add());
      session.prefill(origins.back(), prompt);
    }
    latents.read_input();
    const std::int64_t mean = session.add_mean(origins, 0);
    for (const std::int64_t origin : origins)
      session.drop(origin);
    session.prefill(mean, kPrompts[1]);
    latents.read_input();
    hidden = session.hidden({&mean, 1}).clone();
    session.drop(mean);
  });
  return hidden;
}

TEST(LatentPathTest, AMeanOfEqualKeysIsTheSequence) {
  const LanguageModel model = open_golden("llama");
  const Ids other{4, 40, 3, 22, 9, 5, 61};

  const at::Tensor alone = after_mean(model, {kPrompts[0]});

  EXPECT_TRUE(at::equal(after_mean(model, {kPrompts[0], kPrompts[0]}), alone));
  const at::Tensor mixed = after_mean(model, {kPrompts[0], other});
  EXPECT_FALSE(at::equal(mixed, alone));
  EXPECT_TRUE(at::equal(after_mean(model, {other, kPrompts[0]}), mixed));
  EXPECT_THROW(after_mean(model, {kPrompts[0], kPrompts[1]}), std::exception);
}

TEST(LatentPathTest, EntropiesAreThoseOfTheSoftmax) {
  const LanguageModel model = open_golden("gpt2");
  const Realignment realignment = Realignment::solve(model);
  LatentSession latents(model, realignment, {});
  const at::Tensor states = at::randn({5, model.config().hidden_size});
  const at::Tensor head = model.weights().embedding.to(at::kDouble);  // tied
  const at::Tensor logits = states.to(at::kDouble).matmul(head.t());

  const at::Tensor log_p = logits.log_softmax(1);
  const at::Tensor expected = -(log_p.exp() * log_p).sum(1);

  const at::Tensor all = latents.entropies(states);
  EXPECT_LE((all - expected).abs().max().item<double>(), 1e-5);
  for (std::int64_t n = 0; n < 5; ++n)  // alone as among others
    EXPECT_TRUE(at::equal(latents.entropies(states.narrow(0, n, 1)), all.narrow(0, n, 1)));
}

TEST(LatentPathTest, DecodingWithCarriedKeysIsOneForward) {
  const LanguageModel model = open_golden("qwen3");
  const Realignment realignment = Realignment::solve(model);
  LatentSession latents(model, realignment, {});
  latents.run({32, 4, 8}, [&](DecodeSession& session) {
    std::int64_t sequence = session.add();
    session.prefill(sequence, kPrompts[0]);
    latents.read_input();
    const at::Tensor states = latents.think({&sequence, 1}, kSteps)[0];
    session.prefill(sequence, kPrompts[1]);
    latents.read_input();
    const auto embedded = [&](const Ids& ids) {
      return model.weights().embedding.index_select(0, at::tensor(ids, at::kLong));
    };
    SequenceSpan whole{};
    whole.embeddings =
        at::cat({embedded(kPrompts[0]), realignment.embeddings(states), embedded(kPrompts[1])});

    EXPECT_TRUE(at::equal(session.hidden({&sequence, 1}), model.hidden({&whole, 1}).slice(0, -1)));
    session.drop(sequence);
  });
}

/// Returns the norm of (W_out^T W_out + ridge I) A - W_out^T W_in, divided by that of W_out^T W_in.
double residual_of(const LanguageModel& model, const at::Tensor& matrix, const at::Tensor& head) {
  const at::Tensor out = head.to(at::kDouble);
  const at::Tensor in = model.weights().embedding.to(at::kDouble);
  const at::Tensor normal = out.t().matmul(out) + Realignment::kRidge * at::eye(out.size(1));
  const at::Tensor right = out.t().matmul(in);
  return ((normal.matmul(matrix.to(at::kDouble)) - right).norm() / right.norm()).item<double>();
}

TEST(RealignmentTest, TiedWeightsGiveTheIdentity) {
  const testing_support::TemporaryFolder folder;
  make_folder(folder.path(), {.vocab = 9000, .is_tied = true});
  const LanguageModel model = LanguageModel::open(folder.path());

  const Realignment realignment = Realignment::solve(model);

  EXPECT_LE((realignment.matrix() - at::eye(48)).abs().max().item<double>(), 1e-3);
}

TEST(RealignmentTest, UntiedWeightsSolveTheNormalEquations) {
  const testing_support::TemporaryFolder folder;
  make_folder(folder.path(), {.vocab = 9000});  // three blocks of the vocabulary
  const LanguageModel model = LanguageModel::open(folder.path());
  const LmWeights weights = load_weights(model.config(), formats::WeightFiles(folder.path()));

  const Realignment realignment = Realignment::solve(model);

  EXPECT_LE(residual_of(model, realignment.matrix(), weights.head.weight), 1e-5);
  EXPECT_NEAR(realignment.mean_norm(),
              weights.embedding.to(at::kDouble).norm(2, {1}).mean().item<double>(), 1e-9);
}

TEST(RealignmentTest, EmbeddingsHaveTheMeanNormAndDoNotDependOnOtherRows) {
  const LanguageModel model = open_golden("llama");
  const at::Tensor states = hidden_of(model, make_ids(9, 2));
  for (const bool is_on : {false, true}) {
    const Realignment realignment = Realignment::solve(model, is_on);

    const at::Tensor inputs = realignment.embeddings(states);

    const at::Tensor norms = inputs.to(at::kDouble).norm(2, {1});
    EXPECT_LE((norms - realignment.mean_norm()).abs().max().item<double>(), 1e-5);
    EXPECT_TRUE(at::equal(realignment.embeddings(states.narrow(0, 4, 1)), inputs.narrow(0, 4, 1)));
    if (!is_on) {
      EXPECT_TRUE(at::equal(realignment.matrix(), at::eye(32)));
    }
  }
}

}  // namespace
}  // namespace mgpu::lm
