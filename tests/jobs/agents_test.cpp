// Tests files of agents, and the trees of their work.
#include "jobs/collect/agents.hpp"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/base/file_io.hpp>

#include "jobs/collect/agent_tree.hpp"
#include "support/project_folder.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kJudger = R"({"name": "judger", "prompt": "Q {question} {context}"})";

std::vector<Agent> parse(const std::string& agents, AgentMethod method = AgentMethod::latent_mas) {
  AgentKeys keys;
  keys.method = method;
  return parse_agents("agents.json", "{\"agents\": [" + agents + "]}", keys);
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

/// Returns the report of the refusal; an empty one if `work` is accepted.
template <class Work>
ErrorReport report_of(Work work) {
  try {
    work();
  } catch (const Failure& failure) {
    return failure.report();
  }
  return {};
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

TEST(AgentsTest, TheShippedFilesAreAccepted) {
  AgentKeys keys;
  keys.method = AgentMethod::text_mas;
  for (const char* name : {"agents.json", "hierarchical.json"}) {
    const auto path = testing_support::project_folder() / "conf" / "collect" / "latent" / name;
    EXPECT_EQ(parse_agents(path, read_file(path), keys).size(), 4U) << name;
  }
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

TEST(AgentsTest, WithTextsTheJudgerReadsThoseBeforeIt) {
  const std::string two = R"({"name": "planner", "prompt": "{question}"}, )"
                          R"({"name": "judger", "prompt": "{question}"})";

  EXPECT_EQ(refusal_of(two), "accepted");
  EXPECT_THAT(refusal_of(two, AgentMethod::text_mas), HasSubstr("the judger does not see"));
  const std::string apart = R"({"name": "algebra", "prompt": "{question}"}, )"
                            R"({"name": "code", "prompt": "{question}"}, )";
  EXPECT_EQ(refusal_of(apart + kJudger, AgentMethod::text_mas), "accepted");
}

TEST(AgentsTest, DividingAndMergingNeedTwoAgentsBeforeTheJudger) {
  const std::string file = "{\"agents\": [{\"name\": \"planner\", \"prompt\": \"{question}\"}, " +
                           std::string(kJudger) + "]}";
  AgentKeys keys;
  keys.merge_similarity = 0.9;
  EXPECT_THAT(report_of([&] { parse_agents("agents.json", file, keys); }).sentence,
              HasSubstr("collect.latent.merge_similarity needs two agents"));
  keys.branch_entropy = 0.5;
  EXPECT_THAT(report_of([&] { parse_agents("agents.json", file, keys); }).sentence,
              HasSubstr("collect.latent.branch_entropy needs two agents"));
}

TEST(AgentsTest, PlaceholdersAreReplacedOnce) {
  EXPECT_EQ(filled_prompt("{question} {{x}} {y} {context}{", "{context}?", "done"),
            "{context}? {x} {y} done{");
}

TEST(AgentsTest, FilesOfAnotherFormAreRefused) {
  const std::string judger = kJudger;
  EXPECT_THAT(refusal_of("1, " + judger), HasSubstr("an agent is not an object"));
  EXPECT_THAT(refusal_of(judger + ","), Not(HasSubstr("accepted")));
  EXPECT_THAT(refusal_of(R"({"name": "judger", "prompt": 3})"), HasSubstr("`prompt`"));
  EXPECT_THAT(refusal_of(R"({"name": "judger", "prompt": "{question}", "system": "s"})"),
              HasSubstr("agent `judger` has the unknown member `system`"));
  EXPECT_THAT(refusal_of(R"({"name": "judger", "prompt": "{question}\u0002"})"),
              HasSubstr("agent `judger` has the control character U+0002"));
  for (const char* file : {"{}", R"({"agents": {}})", R"({"agents": "judger"})"}) {
    const ErrorReport report = report_of([&] { parse_agents("a/agents.json", file, {}); });
    EXPECT_EQ(report.code, "E538") << file;
    EXPECT_THAT(report.sentence, HasSubstr("`agents` is not a list with an agent"));
    EXPECT_THAT(report.lines, ElementsAre("  --> a/agents.json"));
  }
}

TEST(AgentsTest, ThereAreAtMost32Agents) {
  std::string others;
  for (int agent = 0; agent < 31; ++agent)
    others += R"({"name": "a)" + std::to_string(agent) + R"(", "prompt": "think"}, )";
  EXPECT_EQ(parse(others + kJudger).size(), 32U);
  EXPECT_THAT(refusal_of(R"({"name": "b", "prompt": "think"}, )" + others + kJudger),
              HasSubstr("more than 32 agents"));
}

TEST(AgentsTest, AnUnknownPlaceholderHasTheNearestKnownOneAsHelp) {
  const auto help_of = [](const std::string& prompt) {
    return report_of([&] { parse(R"({"name": "judger", "prompt": ")" + prompt + "\"}"); }).help;
  };
  EXPECT_EQ(help_of("{quesion}"), "{question}, or {{quesion}} for braces");
  EXPECT_EQ(help_of("{contxt}"), "{context}, or {{contxt}} for braces");
  EXPECT_EQ(help_of("{xyz_1}"), "{question}, or {{xyz_1}} for braces");
  // Braces that are doubled, empty or open are no placeholders.
  EXPECT_EQ(help_of("{question} {{quesion}} {a b} {quesion"), "");
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

TEST(AgentTreeTest, AMergedNodeHasTheAnswersOfItsTarget) {
  // Paths 1 and 2 of the question lead to paths 3 and 4. Path 3 merged into 4, which has answers 5
  // and 6.
  std::vector<AgentNode> nodes(7);
  const std::vector<std::int32_t> parents{-1, 0, 0, 1, 2, 4, 4};
  for (std::size_t n = 0; n < nodes.size(); ++n)
    nodes[n].parent = parents[n];
  nodes[3].target = 4;
  nodes[5].answer = 0;
  nodes[6].answer = 1;
  const std::vector<Solution> answers{solution_of(true), solution_of(false)};

  const StepTree tree = make_agent_tree(nodes, answers);

  for (std::size_t n = 0; n < 5; ++n) {
    EXPECT_EQ(tree.nodes[n].value, 0.5) << n;
    EXPECT_EQ(tree.nodes[n].visits.count, 2) << n;
    EXPECT_EQ(tree.nodes[n].visits.right, 1) << n;
  }
  EXPECT_THAT(tree.children, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(AgentTreeTest, ErrorsAreThoseOfTheAnswersBelow) {
  // Agent 1 has answers 3 and 4, and agent 2 has answers 5 and 6.
  std::vector<AgentNode> nodes(7);
  const std::vector<std::int32_t> parents{-1, 0, 0, 1, 1, 2, 2};
  std::vector<Solution> answers;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    nodes[n].parent = parents[n];
  for (const bool is_right : {true, false, true, true}) {
    nodes[answers.size() + 3].answer = static_cast<std::int32_t>(answers.size());
    answers.push_back(solution_of(is_right));
  }
  const StepTree tree = make_agent_tree(nodes, answers);
  EXPECT_EQ(tree.nodes[0].value, 0.75);
  EXPECT_DOUBLE_EQ(tree.nodes[0].standard_error, std::sqrt(0.75 * 0.25 / 4));
  EXPECT_DOUBLE_EQ(tree.nodes[1].standard_error, std::sqrt(0.5 * 0.5 / 2));
  EXPECT_EQ(tree.nodes[2].standard_error, 0.0);
  EXPECT_THAT(tree.child_offsets, ElementsAre(0, 2, 4, 6, 6, 6, 6, 6));
}

TEST(AgentTreeTest, PathsWithoutAnAnswerHaveNoVisits) {
  // The path 1, 2 and the path 3 end before the judger.
  std::vector<AgentNode> nodes(4);
  nodes[1].parent = 0;
  nodes[2].parent = 1;
  nodes[3].parent = 0;
  const StepTree tree = make_agent_tree(nodes, {});
  for (const StepNode& node : tree.nodes) {
    EXPECT_EQ(node.visits.count, 0);
    EXPECT_EQ(node.value, 0.0);
    EXPECT_EQ(node.standard_error, 0.0);
    EXPECT_EQ(node.path, -1);
  }
  EXPECT_EQ(tree.nodes[2].step, 2);
}

TEST(AgentTreeTest, AnAnswerHasAStepForEachAgentAndTheLastHasItsTokens) {
  std::vector<AgentNode> nodes(4);
  for (std::int32_t n = 1; n < 4; ++n) {
    nodes[static_cast<std::size_t>(n)].parent = n - 1;
    nodes[static_cast<std::size_t>(n)].agent = n - 1;
  }
  nodes[1].text = "plan";
  nodes[2].latents.resize(12);  // three states of four elements
  const std::vector<std::string> names{"planner", "critic", "judger"};

  const std::vector<rows::TextStep> steps = steps_of_answer(nodes, nodes[3], names, 4, 9, "answer");

  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].text, "planner: plan\n");
  EXPECT_EQ(steps[1].text, "critic: 3 latent steps\n");
  EXPECT_EQ(steps[2].text, "answer");
  EXPECT_EQ(steps[0].count + steps[1].count, 0U);
  EXPECT_EQ(steps[2].first, 0U);
  EXPECT_EQ(steps[2].count, 9U);
}

}  // namespace
}  // namespace mgpu::jobs
