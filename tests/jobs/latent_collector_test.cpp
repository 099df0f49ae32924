// Tests trees of agents that think in latent steps, against a walk of single sequences.
#include "jobs/collect/latent_collector.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/report/text_format.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "jobs/collect/latent_noise.hpp"
#include "jobs/collect/table.hpp"
#include "jobs/collect/text_agents.hpp"
#include "made_inputs.hpp"
#include "store/chunk_values.hpp"

namespace mgpu::jobs {
namespace {

using test::Keys;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kQuestions =
    "{\"prompt\": \"ab\", \"answer\": \"1\"}\n{\"prompt\": \"c\", \"answer\": \"2\"}\n"
    "{\"prompt\": \"de 3\", \"answer\": \"0\"}\n";
constexpr const char* kAgents = R"({"agents": [{"name": "planner", "prompt": "plan {question}."},
  {"name": "critic", "prompt": "mistakes of {context}?"},
  {"name": "judger", "prompt": "{question} {context} is "}]})";
constexpr const char* kSpecialists = R"({"agents": [{"name": "math", "prompt": "sum {question}."},
  {"name": "code", "prompt": "run {question}."},
  {"name": "judger", "prompt": "{question} {context} is "}]})";

class LatentCollectorTest : public testing::Test {
protected:
  LatentCollectorTest() { made_.write("agents.json", kAgents); }

  CollectInputs inputs(Keys keys = {}) {
    keys.insert({{"collect.steps", "latent"},
                 {"collect.num_paths", "4"},
                 {"collect.latent.steps", "3"},
                 {"collect.max_new_tokens", "6"},
                 {"collect.agents.path", made_.folder() / "agents.json"},
                 {"collect.batch_size", "8"}});
    if (!keys.contains("collect.agents.method") && !keys.contains("collect.latent.diversity"))
      keys.insert({"collect.num_parent_paths", "2"});
    const Config config = made_.config("collect", keys);
    return read_collect_inputs(config, read_collect_keys(config));
  }

  /// Collects texts of agents, and compares the answers with completions of prompts that are put
  /// together here. has_context[a]: the prompt of agent a has {context}.
  void check_texts(const std::vector<bool>& has_context);

  static std::vector<Question> questions_of(const CollectInputs& inputs) {
    QuestionEncoder encoder = inputs.encoder();
    formats::LineProblems problems(inputs.rows.path());
    return inputs.encode(0, inputs.questions(), encoder, problems);
  }

  std::vector<CollectedQuestion> collect(const CollectInputs& inputs) {
    const QuestionEncoder encoder = inputs.encoder();
    if (!inputs.keys.agents.thinks())
      return TextAgentCollector(model_, encoder, inputs).run(questions_of(inputs), 0);
    return LatentCollector(model_, realignment_, encoder, inputs).run(questions_of(inputs), 0);
  }

  std::vector<std::byte> chunk_of(const CollectInputs& inputs) {
    return question_rows(inputs, 0, questions_of(inputs), collect(inputs));
  }

  const test::MadeInputs made_{kQuestions};
  const lm::LanguageModel model_ = lm::LanguageModel::open(made_.model());
  const lm::Realignment realignment_ = lm::Realignment::solve(model_);
};

/// Returns the nodes of an agent.
std::vector<AgentNode> nodes_of(const CollectedQuestion& question, std::int32_t agent) {
  std::vector<AgentNode> nodes;
  for (const AgentNode& node : question.agents)
    if (node.agent == agent) nodes.push_back(node);
  return nodes;
}

TEST_F(LatentCollectorTest, ATreeHasThePathsOfEachAgent) {
  for (const CollectedQuestion& question : collect(inputs())) {
    ASSERT_EQ(question.agents.size(), 13U);
    std::map<std::int32_t, int> children;
    for (const AgentNode& node : nodes_of(question, 1))
      ++children[node.parent];
    ASSERT_EQ(children.size(), 2U);  // the two best planners
    std::vector<double> scores;
    for (const AgentNode& node : nodes_of(question, 0))
      scores.push_back(node.score);
    std::ranges::sort(scores, std::greater<>());
    for (const auto& [parent, count] : children) {
      EXPECT_EQ(count, 2);
      EXPECT_GE(question.agents[static_cast<std::size_t>(parent)].score, scores[1]);
    }
    EXPECT_EQ(question.paths.size(), 4U);
    for (const AgentNode& node : nodes_of(question, 2))
      EXPECT_EQ(node.score, question.agents[static_cast<std::size_t>(node.parent)].score);
  }
}

TEST_F(LatentCollectorTest, BytesDoNotDependOnTheBatchSizeOrOnOtherQuestions) {
  for (const char* carry : {"all", "latent_only", "last_agent"}) {
    const CollectInputs inputs = this->inputs({{"collect.agents.carry", carry}});
    const auto expected = chunk_of(inputs);
    for (const char* batch : {"1", "64"})
      EXPECT_EQ(
          chunk_of(this->inputs({{"collect.agents.carry", carry}, {"collect.batch_size", batch}})),
          expected)
          << carry << " " << batch;
  }
}

/// A step of a batch reads the results of all its sequences back at once.
TEST_F(LatentCollectorTest, PathsOfAllQuestionsInABatchMakeEachStepTogether) {
  const auto reads_of = [this](const char* batch_size, std::size_t count) {
    CollectInputs inputs = this->inputs({{"collect.batch_size", batch_size}});
    inputs.generation.stop_ids = {};  // so that all answers have the maximum length
    const QuestionEncoder encoder = inputs.encoder();
    LatentCollector collector(model_, realignment_, encoder, inputs);
    const std::vector<Question> questions = questions_of(inputs);
    const std::int64_t before = tensor::read_backs();
    collector.run(std::span(questions).first(count), 0);
    return tensor::read_backs() - before;
  };
  const std::int64_t alone = reads_of("1", 1);
  EXPECT_EQ(alone, 2 * 3 + 6);          // latent steps of two agents, and the tokens of the answer
  EXPECT_EQ(reads_of("12", 3), alone);  // three questions with four paths each
  EXPECT_EQ(reads_of("8", 3), 2 * alone);  // two questions, then one
  EXPECT_EQ(reads_of("1", 3), 3 * alone);
}

/// Returns the latent states of one path of the planner, which thinks in a separate session.
at::Tensor planner_alone(const lm::LanguageModel& model, const lm::Realignment& realignment,
                         const CollectInputs& inputs, const Question& question,
                         std::uint64_t stream) {
  lm::LatentSession latents(model, realignment, {});
  at::Tensor states;
  latents.run({64, 4, 16}, [&](lm::DecodeSession& session) {
    const std::int64_t sequence = session.add();
    session.prefill(sequence, question.agents[0].before);
    latents.read_input();
    const LatentNoise noise(inputs.keys.agents, inputs.keys.run.seed, stream);
    states = latents.think({&sequence, 1}, 3, [&](std::int64_t step, const at::Tensor& row) {
      noise.add(step, {row.mutable_data_ptr<float>(), static_cast<std::size_t>(row.numel())});
    })[0];
    session.drop(sequence);
  });
  return states;
}

TEST_F(LatentCollectorTest, ThePlannedPagesAreThoseThatPathsUse) {
  const std::vector<Keys> cases = {
      {},
      {{"collect.num_paths", "12"}, {"collect.num_parent_paths", "3"}},
      {{"collect.latent.diversity", "none"}, {"collect.num_paths", "7"}},
      {{"collect.latent.pruning", "true"}},
      {{"collect.latent.steps", "9"}, {"collect.max_new_tokens", "1"}},
      {{"collect.agents.carry", "latent_only"}},
      {{"collect.agents.carry", "last_agent"}},
      {{"collect.latent.branch_entropy", "3"}},
      {{"collect.latent.merge_similarity", "0.5"}},
  };
  for (const Keys& keys : cases) {
    for (const char* page : {"1", "4", "16"}) {
      CollectInputs inputs = this->inputs(keys);
      inputs.generation.page_tokens = std::stoll(page);
      inputs.generation.stop_ids = {};   // so that texts have the maximum length
      inputs.generation.batch_size = 1;  // one question at a time
      const QuestionEncoder encoder = inputs.encoder();
      for (const Question& question : questions_of(inputs)) {
        LatentCollector collector(model_, realignment_, encoder, inputs);
        collector.run({&question, 1}, 0);
        const auto planned = static_cast<double>(inputs.tokens_of(question).pages);
        const auto used = static_cast<double>(collector.most_used_pages());
        EXPECT_LE(used, planned);
        // How many paths merge depends on their states, so the plan is an upper bound.
        const double least = keys.contains("collect.latent.merge_similarity") ? 0.4 : 0.9;
        EXPECT_GE(used, least * planned) << testing::PrintToString(keys) << page;
      }
    }
  }
}

TEST_F(LatentCollectorTest, APathAloneIsThePathBesideItsSiblings) {
  const CollectInputs inputs = this->inputs();
  const auto questions = questions_of(inputs);
  const auto collected = collect(inputs);
  for (std::size_t q = 0; q < 3; ++q)
    for (const AgentNode& node : nodes_of(collected[q], 0)) {
      const auto stream = stream_of_agent(static_cast<std::int64_t>(q), 0, node.path);
      const at::Tensor alone = planner_alone(model_, realignment_, inputs, questions[q], stream);
      EXPECT_TRUE(at::equal(at::tensor(node.latents).view({3, -1}), alone)) << q;
    }
}

TEST_F(LatentCollectorTest, MorePathsKeepTheStatesOfTheFirstAgent) {
  const auto few = collect(inputs());
  const auto many = collect(inputs({{"collect.num_paths", "6"}}));
  for (std::size_t q = 0; q < 3; ++q)
    for (std::size_t p = 0; p < 4; ++p)
      EXPECT_EQ(nodes_of(few[q], 0)[p].latents, nodes_of(many[q], 0)[p].latents);
}

TEST_F(LatentCollectorTest, WithoutNoiseAgentsHaveOnePathAndAllAnswers) {
  for (const CollectedQuestion& question :
       collect(inputs({{"collect.latent.diversity", "none"}}))) {
    EXPECT_EQ(question.agents.size(), 7U);
    EXPECT_EQ(question.paths.size(), 4U);
  }
}

TEST_F(LatentCollectorTest, PruningKeepsOnePathBeforeTheAnswer) {
  for (const CollectedQuestion& question : collect(inputs({{"collect.latent.pruning", "true"}}))) {
    EXPECT_EQ(question.paths.size(), 1U);
    EXPECT_EQ(question.tree.nodes[0].visits.count, 1);
  }
}

/// Returns the entropies of softmax(W h) over the latent states of a node, averaged, in nats.
double entropy_of(const lm::LanguageModel& model, const AgentNode& node) {
  const std::int64_t width = model.config().hidden_size;
  const at::Tensor states = at::tensor(node.latents).view({-1, width});
  at::Tensor ids = at::arange(model.config().vocab);
  at::Tensor sum = at::zeros({}, at::kDouble);
  for (std::int64_t m = 0; m < states.size(0); ++m) {
    const at::Tensor rows = states.narrow(0, m, 1).expand({ids.size(0), width}).contiguous();
    const at::Tensor p = lm::apply_head(model, rows, ids, 0).log_probs.to(at::kDouble);
    sum -= (p.exp() * p).sum();
  }
  return sum.item<double>() / static_cast<double>(states.size(0));
}

TEST_F(LatentCollectorTest, OnlyPathsWithALargerEntropyAreDivided) {
  const CollectInputs even = inputs({{"collect.latent.branch_entropy", "0"}});
  std::vector<double> entropies;
  for (const CollectedQuestion& question : collect(even))
    for (const AgentNode& node : nodes_of(question, 0)) {
      EXPECT_NEAR(node.entropy, entropy_of(model_, node), 1e-5);
      entropies.push_back(node.entropy);
    }
  std::ranges::sort(entropies);
  const std::size_t half = entropies.size() / 2;
  const std::string middle = report::text_of("%.17g", (entropies[half - 1] + entropies[half]) / 2);
  const double limit = std::stod(middle);
  bool has_single = false;
  bool has_divided = false;
  for (const CollectedQuestion& question :
       collect(inputs({{"collect.latent.branch_entropy", middle}}))) {
    std::map<std::int32_t, int> children;
    for (const AgentNode& node : nodes_of(question, 1))
      ++children[node.parent];
    for (const auto& [parent, count] : children) {
      const bool is_divided = question.agents[static_cast<std::size_t>(parent)].entropy > limit;
      EXPECT_TRUE(is_divided ? count > 1 : count == 1) << count;
      (is_divided ? has_divided : has_single) = true;
    }
  }
  EXPECT_TRUE(has_single && has_divided);
}

TEST_F(LatentCollectorTest, SimilarPathsOfTheSecondAgentMerge) {
  const CollectInputs inputs = this->inputs({{"collect.latent.merge_similarity", "-1"}});
  const auto collected = collect(inputs);
  for (const CollectedQuestion& question : collected) {
    const auto critics = nodes_of(question, 1);
    EXPECT_EQ(std::ranges::count(critics, -1, &AgentNode::target), 1);
    EXPECT_EQ(question.paths.size(), 1U);  // all paths merged into one
    for (const StepNode& node : question.tree.nodes) {
      if (node.step == 2) {
        EXPECT_EQ(node.visits.count, 1);
      }
    }
  }
  const store::test::ChunkValues chunk(question_table(inputs),
                                       question_rows(inputs, 0, questions_of(inputs), collected));
  EXPECT_EQ(std::ranges::count(chunk.lists<std::int32_t>("node_merged_into")[0], -1), 7);
}

TEST_F(LatentCollectorTest, MergingOfDissimilarPathsChangesNothing) {
  const auto apart = collect(inputs({{"collect.latent.merge_similarity", "1"}}));
  const auto expected = collect(inputs());
  for (std::size_t q = 0; q < expected.size(); ++q)
    for (std::size_t p = 0; p < expected[q].paths.size(); ++p)
      EXPECT_EQ(apart[q].paths[p].completion.ids, expected[q].paths[p].completion.ids);
}

TEST_F(LatentCollectorTest, MergedBytesDoNotDependOnTheBatchSize) {
  const Keys keys{{"collect.latent.merge_similarity", "0.5"},
                  {"collect.latent.branch_entropy", "3"},
                  {"collect.agents.carry", "latent_only"}};
  const auto expected = chunk_of(inputs(keys));
  for (const char* batch : {"1", "64"}) {
    Keys other = keys;
    other["collect.batch_size"] = batch;
    EXPECT_EQ(chunk_of(inputs(other)), expected) << batch;
  }
}

void LatentCollectorTest::check_texts(const std::vector<bool>& has_context) {
  const CollectInputs inputs = this->inputs({{"collect.agents.method", "text_mas"}});
  const auto questions = questions_of(inputs);
  const auto collected = collect(inputs);
  const QuestionEncoder encoder = inputs.encoder();
  const auto drawn = [&](std::size_t q, std::size_t agent, std::int64_t path,
                         const std::vector<std::int64_t>& context) {
    std::vector<std::int64_t> ids = questions[q].agents[agent].before;
    if (has_context[agent]) ids.insert(ids.end(), context.begin(), context.end());
    const auto& after = questions[q].agents[agent].after;
    ids.insert(ids.end(), after.begin(), after.end());
    const lm::Prompt prompt{
        stream_of_agent(static_cast<std::int64_t>(q), static_cast<std::int64_t>(agent), path), ids};
    return lm::Generator(model_, inputs.generation).run({&prompt, 1}).front().completions.front();
  };
  for (std::size_t q = 0; q < 3; ++q)
    for (std::int64_t path = 0; path < 4; ++path) {
      std::vector<std::int64_t> context;
      for (std::size_t agent = 0; agent < 3; ++agent) {
        const lm::Completion completion = drawn(q, agent, path, context);
        if (agent == 2) {
          EXPECT_EQ(collected[q].paths[static_cast<std::size_t>(path)].completion.ids,
                    completion.ids);
        }
        const auto heading =
            encoder.agents()->separator(heading_of(encoder.agents()->agents()[agent]));
        context.insert(context.end(), heading.begin(), heading.end());
        const bool stops = completion.reason == lm::FinishReason::stop_id;
        context.insert(context.end(), completion.ids.begin(),
                       completion.ids.end() - (stops ? 1 : 0));
      }
    }
}

TEST_F(LatentCollectorTest, TextsOfAgentsAreReadByTheNextOnes) {
  check_texts({false, true, true});
}

TEST_F(LatentCollectorTest, APromptWithoutContextReadsNoTexts) {
  made_.write("agents.json", kSpecialists);
  check_texts({false, false, true});
}

TEST_F(LatentCollectorTest, TheJudgerAloneHasOneNodeForEachAnswer) {
  const CollectInputs inputs = this->inputs({{"collect.agents.method", "single"}});
  for (const CollectedQuestion& question : collect(inputs)) {
    EXPECT_EQ(question.agents.size(), 5U);
    EXPECT_EQ(question.paths.size(), 4U);
  }
}

TEST_F(LatentCollectorTest, ARowHasTheStatesOfItsNodes) {
  const CollectInputs inputs = this->inputs({{"collect.latent.store", "f32"}});
  const auto collected = collect(inputs);
  const store::test::ChunkValues chunk(question_table(inputs),
                                       question_rows(inputs, 0, questions_of(inputs), collected));
  const auto counts = chunk.lists<std::int32_t>("node_latents")[1];
  const auto values = chunk.lists<float>("latents")[1];
  EXPECT_THAT(counts, ElementsAre(0, 3, 3, 3, 3, 3, 3, 3, 3, 0, 0, 0, 0));
  ASSERT_EQ(values.size(), 24U * 16U);
  const std::vector<float> first(values.begin(), values.begin() + 48);
  EXPECT_EQ(first, nodes_of(collected[1], 0)[0].latents);
  EXPECT_THAT(chunk.texts("steps")[1], HasSubstr("critic: 3 latent steps"));
}

TEST_F(LatentCollectorTest, SequencesBeyondTheContextAreMarked) {
  const CollectInputs inputs =
      this->inputs({{"collect.latent.steps", "4096"}, {"data.on_bad_row", "mark"}});
  for (const Question& question : questions_of(inputs))
    EXPECT_EQ(question.facts.status, rows::RowStatus::too_long);
}

}  // namespace
}  // namespace mgpu::jobs
