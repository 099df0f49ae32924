// Tests the keys of agents: their meaning, and contradictions between them.
#include "jobs/collect/agent_keys.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/config/check_all.hpp>

#include "support/made_config.hpp"

namespace mgpu::jobs {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing_support::config_of;
using testing_support::Keys;
using testing_support::report_of_failure;

constexpr std::int64_t kPaths = 8;

/// Returns the configuration of a run of agents. Keys in `more` replace its keys.
Config latent(const Keys& more = {}) {
  Keys keys = more;
  keys.insert({{"job", "collect"}, {"collect.steps", "latent"}});
  return config_of(keys);
}

/// Expects that `config` breaks a rule about `key`, and that the report shows where `key` is set.
void expect_refused(const Config& config, const std::string& key, const std::string& help) {
  const ErrorReport report = report_of_failure([&] { check_agent_keys(config); });
  EXPECT_EQ(report.code, "E124") << key;
  EXPECT_EQ(report.exit, ExitCode::config) << key;
  EXPECT_THAT(report.sentence, HasSubstr(key + " means nothing"));
  EXPECT_THAT(report.lines, Contains(HasSubstr("`" + key + "` is set here")));
  EXPECT_EQ(report.help, help) << key;
}

void expect_accepted(const Config& config) {
  EXPECT_NO_THROW(check_agent_keys(config));
}

TEST(AgentKeysTest, StepsOfTextHaveNoAgents) {
  for (const auto& [key, value] : Keys{{"collect.agents.path", "a.json"},
                                       {"collect.agents.carry", "last_agent"},
                                       {"collect.latent.steps", "3"},
                                       {"collect.latent.diversity", "none"},
                                       {"collect.num_parent_paths", "2"}}) {
    expect_refused(config_of({{"job", "collect"}, {key, value}}), key, "collect.steps=latent");
    expect_accepted(latent({{key, value}}));
  }
  expect_accepted(config_of({{"job", "collect"}}));
}

TEST(AgentKeysTest, AgentsHaveNoPiecesOfText) {
  for (const auto& [key, value] : Keys{{"collect.split", "tokens"},
                                       {"collect.step_tokens", "3"},
                                       {"collect.max_steps", "3"},
                                       {"collect.label", "math_shepherd_soft"},
                                       {"collect.rollouts", "3"},
                                       {"collect.omega.searches", "3"}}) {
    expect_refused(latent({{key, value}}), key, "collect.steps=text");
    expect_accepted(config_of({{"job", "collect"}, {key, value}}));
  }
}

TEST(AgentKeysTest, AgentsThatDoNotThinkHaveNoLatentSteps) {
  for (const char* method : {"text_mas", "single"})
    for (const auto& [key, value] : Keys{{"collect.latent.realign", "false"},
                                         {"collect.agents.carry", "latent_only"},
                                         {"collect.num_parent_paths", "2"}})
      expect_refused(latent({{"collect.agents.method", method}, {key, value}}), key,
                     "collect.agents.method=latent_mas");
  expect_accepted(latent({{"collect.agents.method", "single"}, {"collect.agents.path", "a"}}));
}

TEST(AgentKeysTest, WithoutNoiseAnAgentHasOnePath) {
  for (const auto& [key, value] : Keys{{"collect.latent.temperature", "2"},
                                       {"collect.latent.pruning", "true"},
                                       {"collect.num_parent_paths", "2"}})
    expect_refused(latent({{"collect.latent.diversity", "none"}, {key, value}}), key,
                   "collect.latent.diversity=hybrid");
  expect_accepted(latent({{"collect.latent.diversity", "none"}, {"collect.latent.steps", "3"}}));
}

TEST(AgentKeysTest, AllBrokenRulesAreToldTogether) {
  const Config config = latent({{"collect.rollouts", "3"},
                                {"collect.latent.diversity", "none"},
                                {"collect.latent.pruning", "true"}});
  try {
    check_agent_keys(config);
    FAIL() << "was accepted";
  } catch (const CombinedFailure& failure) {
    EXPECT_EQ(failure.reports().size(), 2U);
  }
}

TEST(AgentKeysTest, AnAgentCannotContinueMorePathsThanThereAre) {
  const auto check = [](const char* parents) {
    const Config config = latent({{"collect.num_parent_paths", parents}});
    return report_of_failure([&] { check_parent_paths(config, kPaths); });
  };
  EXPECT_EQ(check("auto").code, "");
  EXPECT_EQ(check("8").code, "");
  EXPECT_EQ(check("9").code, "E124");
  EXPECT_THAT(check("9").sentence, HasSubstr("an agent has only 8 paths (collect.num_paths)"));
  EXPECT_EQ(check("9").help, "collect.num_parent_paths=8");
}

TEST(AgentKeysTest, DefaultsAreThoseOfLatentMas) {
  const AgentKeys keys = read_agent_keys(latent(), kPaths);
  EXPECT_TRUE(keys.thinks());
  EXPECT_EQ(keys.path, "");
  EXPECT_EQ(keys.num_parents, 5);
  EXPECT_TRUE(keys.realigns);
  EXPECT_EQ(keys.store, LatentStore::f16);
  EXPECT_EQ(agents_text(keys),
            "agents latent_mas, 5 latent steps, carry all, diversity hybrid, 5 parent paths");
  EXPECT_EQ(read_agent_keys(latent(), 3).num_parents, 3);  // as many as there are
  EXPECT_FALSE(read_agent_keys(config_of({{"job", "collect"}}), kPaths).thinks());
}

TEST(AgentKeysTest, KeysHaveTheirMeaning) {
  const AgentKeys keys = read_agent_keys(latent({{"collect.agents.path", "/in/a.json"},
                                                 {"collect.agents.carry", "last_agent"},
                                                 {"collect.latent.steps", "1024"},
                                                 {"collect.latent.realign", "false"},
                                                 {"collect.latent.diversity", "noise"},
                                                 {"collect.latent.temperature", "0.5"},
                                                 {"collect.latent.pruning", "true"},
                                                 {"collect.latent.store", "f32"},
                                                 {"collect.num_parent_paths", "7"}}),
                                         kPaths);
  EXPECT_EQ(keys.path, "/in/a.json");
  EXPECT_EQ(keys.carry, Carry::last_agent);
  EXPECT_EQ(keys.diversity, Diversity::noise);
  EXPECT_EQ(keys.temperature, 0.5);
  EXPECT_EQ(keys.store, LatentStore::f32);
  EXPECT_EQ(agents_text(keys),
            "agents latent_mas, 1,024 latent steps, carry last_agent, diversity noise, 7 parent "
            "paths, not realigned, pruned");
}

TEST(AgentKeysTest, TheTextNamesOnlyWhatAgentsUse) {
  EXPECT_EQ(agents_text(read_agent_keys(latent({{"collect.agents.method", "text_mas"}}), kPaths)),
            "agents text_mas");
  EXPECT_EQ(agents_text(read_agent_keys(
                latent({{"collect.latent.diversity", "none"}, {"collect.latent.store", "none"}}),
                kPaths)),
            "agents latent_mas, 5 latent steps, carry all, diversity none");
}

}  // namespace
}  // namespace mgpu::jobs
