// Tests files of agents, and the trees of their work.
#include "jobs/collect/agents.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

#include "jobs/collect/agent_tree.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kJudger = R"({"name": "judger", "prompt": "Q {question} {context}"})";

std::vector<Agent> parse(const std::string& agents, AgentMethod method = AgentMethod::latent_mas) {
  return parse_agents("agents.json", "{\"agents\": [" + agents + "]}", method);
}

/// Returns the sentence of the refusal.
std::string refusal_of(const std::string& agents, AgentMethod method = AgentMethod::latent_mas) {
  try {
    parse(agents, method);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.report().code, "E538");
    EXPECT_EQ(failure.report().exit, ExitCode::data);
    return failure.report().sentence;
  }
  return "accepted";
}

TEST(AgentsTest, AFileNamesAgentsInOrder) {
  const auto agents =
      parse(R"({"name": "solver", "system_prompt": "Be brief.", "prompt": "{question}"}, )" +
            std::string(kJudger));

  ASSERT_EQ(agents.size(), 2U);
  EXPECT_EQ(agents[0].name, "solver");
  EXPECT_EQ(agents[0].system_prompt, "Be brief.");
  EXPECT_EQ(agents[1].prompt, "Q {question} {context}");
}

TEST(AgentsTest, TheAgentsOfTheProgramAreAccepted) {
  std::string list;
  for (const Agent& agent : default_agents()) {
    std::string prompt = agent.prompt;
    for (std::size_t at = prompt.find('\n'); at != std::string::npos; at = prompt.find('\n', at))
      prompt.replace(at, 1, "\\n");
    list += (list.empty() ? "" : ", ") + std::string("{\"name\": \"") + agent.name +
            "\", \"prompt\": \"" + prompt + "\"}";
  }

  EXPECT_EQ(parse(list, AgentMethod::text_mas).size(), 4U);
}

TEST(AgentsTest, UnusableFilesAreRefusedByName) {
  const std::string planner = R"({"name": "planner", "prompt": "Plan {question}"})";
  EXPECT_THAT(refusal_of(planner), HasSubstr("no judger"));
  EXPECT_THAT(refusal_of(std::string(kJudger) + ", " + planner), HasSubstr("not the last"));
  EXPECT_THAT(refusal_of(R"({"name": "critic", "prompt": "{quesion}"}, )" + std::string(kJudger)),
              HasSubstr("agent `critic` has the unknown placeholder {quesion}"));
  EXPECT_THAT(refusal_of(R"({"name": "judger", "prompt": "{context}"})"),
              HasSubstr("does not see the question"));
  EXPECT_THAT(refusal_of(R"({"name": "judger", "prompt": "{question}{context}{context}"})"),
              HasSubstr("more than once"));
  EXPECT_THAT(refusal_of(std::string(kJudger) + ", " + kJudger), HasSubstr("two agents"));
  EXPECT_THAT(refusal_of(R"({"name": "judger", "promt": "{question}"})"), HasSubstr("`prompt`"));
  EXPECT_THAT(refusal_of(""), HasSubstr("`agents`"));
}

TEST(AgentsTest, WithTextsEachAgentReadsThoseBeforeIt) {
  const std::string two = R"({"name": "planner", "prompt": "{question}"}, )"
                          R"({"name": "judger", "prompt": "{question}"})";

  EXPECT_EQ(refusal_of(two), "accepted");
  EXPECT_THAT(refusal_of(two, AgentMethod::text_mas), HasSubstr("agent `judger` does not see"));
}

TEST(AgentsTest, PlaceholdersAreReplacedOnce) {
  EXPECT_EQ(filled_prompt("{question} {{x}} {y} {context}{", "{context}?", "done"),
            "{context}? {x} {y} done{");
}

Solution solution_of(bool is_right) {
  Solution solution;
  solution.answer.is_right = is_right;
  return solution;
}

TEST(AgentTreeTest, ValuesAreMeansOfChildrenAndVisitsAreAnswers) {
  // The question has agents 1, 2 and 3; 1 has answers 4 and 5, and 2 has answer 6.
  std::vector<AgentNode> nodes(7);
  const std::vector<std::int32_t> parents{-1, 0, 0, 0, 1, 1, 2};
  for (std::size_t n = 0; n < nodes.size(); ++n)
    nodes[n].parent = parents[n];
  for (std::int32_t answer = 0; answer < 3; ++answer)
    nodes[static_cast<std::size_t>(answer) + 4].answer = answer;
  const std::vector<Solution> answers{solution_of(true), solution_of(false), solution_of(true)};

  const StepTree tree = make_agent_tree(nodes, answers);

  std::vector<double> values;
  std::vector<std::int32_t> visits;
  std::vector<std::int32_t> paths;
  std::vector<std::int32_t> steps;
  for (const StepNode& node : tree.nodes) {
    values.push_back(node.value);
    visits.push_back(node.visits.count);
    paths.push_back(node.path);
    steps.push_back(node.step);
  }
  EXPECT_THAT(values, ElementsAre(0.5, 0.5, 1.0, 0.0, 1.0, 0.0, 1.0));
  EXPECT_THAT(visits, ElementsAre(3, 2, 1, 0, 1, 1, 1));
  EXPECT_THAT(paths, ElementsAre(-1, 0, 2, -1, 0, 1, 2));
  EXPECT_THAT(steps, ElementsAre(0, 1, 1, 1, 2, 2, 2));
  EXPECT_EQ(tree.nodes[0].visits.right, 2);
  EXPECT_THAT(tree.children, ElementsAre(1, 2, 3, 4, 5, 6));
}

}  // namespace
}  // namespace mgpu::jobs
