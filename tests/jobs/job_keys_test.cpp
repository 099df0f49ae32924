// Tests the keys of jobs on models: their meaning, and contradictions between them.
#include <fstream>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>
#include <mgpu/jobs/job.hpp>

#include "jobs/classify/keys.hpp"
#include "jobs/collect/keys.hpp"
#include "jobs/generate/keys.hpp"
#include "jobs/teacher/keys.hpp"
#include "support/made_config.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing_support::config_of;
using testing_support::Keys;
using testing_support::report_of_failure;

Config config_for(const char* job, const Keys& more) {
  Keys keys = {{"job", job}, {"model.path", "m"}, {"data.path", "d"}};
  keys.insert(more.begin(), more.end());
  return config_of(keys);
}

/// Returns the code of the rule that the keys violate, or "" if they are valid.
std::string rule_of(const char* job, const Keys& keys) {
  const Config config = config_for(job, keys);
  return report_of_failure([&] { job_of(config).check(config, 1); }).code;
}

/// Returns the configuration of job generate for a folder with these defaults.
GenerateConfig read_generate_config(const Config& config, const lm::GenerationDefaults& defaults) {
  return fill_in(read_generate_keys(config), defaults);
}

TEST(JobKeysTest, AModelAndAFileAreEnough) {
  for (const char* job : {"generate", "teacher", "classify", "collect"})
    EXPECT_EQ(rule_of(job, {}), "") << job;
}

TEST(JobKeysTest, KeysOfAnotherJobAreNoted) {
  const Config config = config_for("teacher", {{"generate.batch_size", "3"}});
  EXPECT_THAT(notes_for_job(config), ElementsAre("job teacher does not read generate.batch_size"));
  EXPECT_EQ(notes_for_job(config_for("generate", {{"generate.batch_size", "3"}})).size(), 0U);
}

TEST(JobKeysTest, CollectRefusesWhatItCannotMakeAndKeysWithoutEffect) {
  EXPECT_EQ(rule_of("collect", {{"collect.steps", "latent"}}), "");
  EXPECT_EQ(rule_of("collect", {{"collect.steps", "latent"}, {"collect.split", "tokens"}}), "E124");
  EXPECT_EQ(rule_of("collect", {{"collect.step_tokens", "8"}}), "E124");
  EXPECT_EQ(rule_of("collect", {{"collect.step_tokens", "8"}, {"collect.split", "tokens"}}), "");
  EXPECT_EQ(rule_of("collect", {{"collect.omega.searches", "3"}}), "E124");
  EXPECT_EQ(rule_of("collect", {{"collect.omega.searches", "3"}, {"collect.label", "omega_prm"}}),
            "");
  const auto rule_with = [](const char* dataset) {
    return report_of_failure([&] {
             const Config config =
                 config_of({{"job", "collect"}, {"model.path", "m"}, {"data.dataset", dataset}});
             job_of(config).check(config, 1);
           })
        .code;
  };
  EXPECT_EQ(rule_with("arithmetic"), "");
  EXPECT_EQ(rule_with("synthetic_texts"), "E124");  // nothing judges its answers
}

TEST(JobKeysTest, KeysOfCollectHaveTheirMeaning) {
  const Config config = config_for("collect", {{"collect.split", "tokens"},
                                               {"collect.label", "math_shepherd_hard"},
                                               {"collect.batch_size", "auto"}});
  const CollectKeys keys = read_collect_keys(config);
  EXPECT_EQ(keys.step_tokens, 16);
  EXPECT_EQ(keys.label, StepLabel::math_shepherd_hard);
  EXPECT_FALSE(keys.batch_size);
  EXPECT_EQ(read_collect_keys(config_for("collect", {})).step_tokens, 0);
}

TEST(JobKeysTest, EachJobIsInTheTable) {
  std::vector<std::string> names;
  for (const JobSpec& job : jobs()) {
    names.emplace_back(job.name);
    EXPECT_EQ(&job_of(config_of({{"job", names.back()}})), &job);
  }
  EXPECT_THAT(names, IsSupersetOf({"train", "generate", "teacher", "classify"}));
}

TEST(JobKeysTest, AJobWithoutPartsUpgradesNone) {
  const Config config = config_of({{"job", "train"}});
  const std::unique_ptr<Job> job = read_job(config);
  EXPECT_GT(job->disk_bytes(), 0U);
  EXPECT_THROW(job->upgrade_chunks(), Error);
}

TEST(JobKeysTest, TheKeysOfTheRunAreAmongThoseThatAJobReads) {
  const Keys keys = {{"run.seed", "5"}, {"run.chunk_size", "7"}, {"run.schedule", "static"}};
  for (const char* job : {"train", "generate", "teacher", "classify"}) {
    const Config config = config_for(job, keys);
    const run::JobKeys read = read_job(config)->run_keys();
    EXPECT_EQ(read.seed, 5U) << job;
    EXPECT_EQ(read.chunk_size, 7) << job;
    EXPECT_FALSE(read.is_dynamic) << job;
  }
}

TEST(JobKeysTest, AnAutomaticChunkIsTheNumberThatTheDataGive) {
  const testing_support::TemporaryFolder folder;
  const std::string path = (folder.path() / "rows.jsonl").string();
  std::ofstream file(path);
  for (int row = 0; row < 200; ++row)
    file << "{\"prompt\": \"a\"}\n";
  file.close();
  const auto size_of = [&](const char* job, Keys keys) {
    keys.insert({{"job", job}, {"model.path", "m"}, {"data.path", path}});
    return with_chunk_size(config_of(keys)).shown("run.chunk_size");
  };
  for (const char* job : {"generate", "teacher", "classify"})
    EXPECT_EQ(size_of(job, {}), "4") << job;
  EXPECT_EQ(size_of("generate", {{"generate.do_sample", "true"}, {"generate.num_samples", "20"}}),
            "2");
  EXPECT_EQ(size_of("teacher", {{"data.max_samples", "64"}}), "1");
  EXPECT_EQ(size_of("teacher", {{"run.chunk_size", "9"}}), "9");
  EXPECT_EQ(size_of("train", {}), "32");
  EXPECT_EQ(size_of("teacher", {{"data.path", "nowhere"}}),
            "1");  // the job reports the missing file

  const Keys keys = {{"job", "teacher"}, {"model.path", "m"}, {"data.path", path}};
  Keys with_number = keys;
  with_number["run.chunk_size"] = "4";
  EXPECT_EQ(with_chunk_size(config_of(keys)).identity(), config_of(with_number).identity());
}

TEST(ClassifyKeysTest, LabelsMayBeAMappingAndThePromptAText) {
  const Config config = config_for("classify", {{"classify.labels", "{hate: \"0\", offensive: 1}"},
                                                {"classify.prompt", "Tweet: {text} / Kind:"}});
  job_of(config).check(config, 1);
  const ClassifyConfig keys = read_classify_config(config);
  EXPECT_THAT(keys.labels, ElementsAre("hate", "offensive"));
  EXPECT_THAT(keys.label_values, ElementsAre("0", "1"));
  EXPECT_EQ(keys.prompt_text, "Tweet: {text} / Kind:");
  EXPECT_TRUE(keys.prompt_file.empty());
  EXPECT_EQ(config.shown("classify.labels"), "{hate: \"0\", offensive: \"1\"}");

  EXPECT_EQ(rule_of("classify", {{"classify.labels", "{a: \"0\", b: \"0\"}"}}), "E107");
  EXPECT_EQ(rule_of("classify", {{"classify.prompt", "{text}"}, {"classify.strategy", "s"}}),
            "E124");
}

TEST(GenerateKeysTest, GreedyDecodingHasNoUseForDraws) {
  const Keys greedy = {{"generate.do_sample", "false"}};
  EXPECT_EQ(rule_of("generate", greedy), "");
  for (const auto& [name, value] : Keys{{"generate.temperature", "0.5"},
                                        {"generate.top_k", "5"},
                                        {"generate.top_p", "0.5"},
                                        {"generate.num_samples", "2"}}) {
    Keys keys = greedy;
    keys[name] = value;
    EXPECT_EQ(rule_of("generate", keys), "E124") << name;
    keys["generate.do_sample"] = "true";
    EXPECT_EQ(rule_of("generate", keys), "") << name;
  }
}

TEST(GenerateKeysTest, AStopStringIsNotEmpty) {
  EXPECT_EQ(rule_of("generate", {{"generate.stop", "[\"\"]"}}), "E107");
  EXPECT_EQ(rule_of("generate", {{"generate.stop", "[\"END\"]"}}), "");
}

lm::GenerationDefaults folder_that_draws() {
  lm::GenerationDefaults folder;
  folder.do_sample = true;
  folder.temperature = 0.6;
  folder.top_k = 20;
  folder.top_p = 0.95;
  folder.repetition_penalty = 1.1;
  folder.eos_ids = {2, 5};
  folder.unused = {"num_beams"};
  folder.unused_in_draws = {"min_p"};
  return folder;
}

TEST(GenerateKeysTest, WhatIsNotGivenIsTheFolders) {
  const GenerateConfig config =
      read_generate_config(config_for("generate", {}), folder_that_draws());
  const lm::SamplingConfig& sampling = config.generation.sampling;
  EXPECT_FALSE(sampling.is_greedy);
  EXPECT_EQ(sampling.temperature, 0.6);
  EXPECT_EQ(sampling.top_k, 20);
  EXPECT_EQ(sampling.top_p, 0.95);
  EXPECT_EQ(sampling.repetition_penalty, 1.1);
  EXPECT_THAT(config.generation.stop_ids, ElementsAre(2, 5));
  EXPECT_EQ(config.generation.batch_size, 16);
  EXPECT_TRUE(config.prompt.add_generation_prompt);
}

TEST(GenerateKeysTest, WhatIsGivenCounts) {
  const GenerateConfig config =
      read_generate_config(config_for("generate", {{"generate.temperature", "0.5"},
                                                   {"generate.top_k", "7"},
                                                   {"generate.num_samples", "3"},
                                                   {"generate.max_new_tokens", "9"},
                                                   {"generate.batch_size", "auto"},
                                                   {"generate.stop", "[END]"},
                                                   {"generate.add_generation_prompt", "false"},
                                                   {"generate.prompt_log_probs", "false"},
                                                   {"run.seed", "4"}}),
                           folder_that_draws());
  EXPECT_EQ(config.generation.sampling.temperature, 0.5);
  EXPECT_EQ(config.generation.sampling.top_k, 7);
  EXPECT_EQ(config.generation.sampling.seed, 4U);
  EXPECT_EQ(config.num_samples, 3);
  EXPECT_EQ(config.generation.max_new_tokens, 9);
  EXPECT_TRUE(config.has_auto_batch);
  EXPECT_THAT(config.stops, ElementsAre("END"));
  EXPECT_FALSE(config.prompt.add_generation_prompt);
  EXPECT_FALSE(config.generation.scores_prompts);
}

TEST(GenerateKeysTest, KeysOfDrawsImplySampling) {
  for (const auto& [name, value] : Keys{{"generate.temperature", "0.5"},
                                        {"generate.top_k", "7"},
                                        {"generate.top_p", "0.5"},
                                        {"generate.num_samples", "2"}}) {
    const Config config = config_for("generate", {{name, value}});
    const GenerateConfig read = read_generate_config(config, {});
    EXPECT_FALSE(read.generation.sampling.is_greedy) << name;
    EXPECT_THAT(sampling_text(read_generate_keys(config), read),
                HasSubstr("sampling because of " + name + ","));
  }
  const GenerateConfig none = read_generate_config(config_for("generate", {}), {});
  EXPECT_TRUE(none.generation.sampling.is_greedy);
}

TEST(GenerateKeysTest, ScoringAloneNeedsOneRowOfAPrompt) {
  const Config config = config_for("generate", {{"generate.max_new_tokens", "0"},
                                                {"generate.num_samples", "3"},
                                                {"generate.prompt_log_probs", "false"}});
  const GenerateConfig scoring = read_generate_config(config, {});
  EXPECT_EQ(scoring.num_samples, 1);
  EXPECT_TRUE(scoring.generation.scores_prompts);
  EXPECT_FALSE(scoring.prompt.add_generation_prompt);
  const auto note = [](const Config& read) { return scoring_note(read, read_generate_keys(read)); };
  EXPECT_EQ(note(config),
            "generate.max_new_tokens=0 only scores the prompts, without generate.num_samples=3, "
            "generate.prompt_log_probs=false");
  EXPECT_EQ(sampling_text(read_generate_keys(config), scoring), "scoring only");
  EXPECT_EQ(note(config_for("generate", {{"generate.max_new_tokens", "0"}})), "");
  EXPECT_EQ(note(config_for("generate", {{"generate.num_samples", "3"}})), "");
}

TEST(GenerateKeysTest, DrawsAreToldInWords) {
  const Config config = config_for("generate", {});
  const GenerateConfig draws = read_generate_config(config, folder_that_draws());
  EXPECT_EQ(sampling_text(read_generate_keys(config), draws),
            "sampling, temperature 0.6, top k 20, top p 0.95, repetition penalty 1.1 (what is not "
            "given is the folder's)");
  EXPECT_EQ(unused_note(draws, folder_that_draws()),
            "left out, for there is nothing like it here: the folder's num_beams, min_p");
  const GenerateConfig greedy = read_generate_config(config, {});
  EXPECT_THAT(sampling_text(read_generate_keys(config), greedy), HasSubstr("greedy"));
  EXPECT_EQ(unused_note(greedy, folder_that_draws()),
            "left out, for there is nothing like it here: the folder's num_beams");
  EXPECT_EQ(unused_note(greedy, {}), "");
}

TEST(TeacherKeysTest, AKeyOfOtherTargetsIsRefused) {
  const Keys draws = {{"teacher.targets", "random_sampling"}};
  EXPECT_EQ(rule_of("teacher", {{"teacher.top_k", "5"}}), "");
  EXPECT_EQ(rule_of("teacher", {{"teacher.num_draws", "5"}}), "E124");
  Keys both = draws;
  both["teacher.num_draws"] = "5";
  EXPECT_EQ(rule_of("teacher", both), "");
  both["teacher.top_k"] = "5";
  EXPECT_EQ(rule_of("teacher", both), "E124");
}

TEST(TeacherKeysTest, AreWhatTheTargetsAreMadeOf) {
  const TeacherConfig standard = read_teacher_config(config_for("teacher", {}));
  EXPECT_EQ(targets_text(standard), "top 64, float16");
  EXPECT_EQ(standard.batch_size, 16);
  EXPECT_EQ(standard.length.max_length, 2048);
  const TeacherConfig draws =
      read_teacher_config(config_for("teacher", {{"teacher.targets", "random_sampling"},
                                                 {"teacher.num_draws", "7"},
                                                 {"teacher.temperature", "0.5"},
                                                 {"teacher.store", "packed"},
                                                 {"teacher.batch_size", "auto"},
                                                 {"run.seed", "9"}}));
  EXPECT_EQ(targets_text(draws), "7 draws, temperature 0.5, packed");
  EXPECT_EQ(draws.batch_size, 0);
  EXPECT_EQ(draws.run.seed, 9U);
}

TEST(ClassifyKeysTest, LabelsAreTwoDifferentWords) {
  EXPECT_EQ(rule_of("classify", {{"classify.labels", "[only]"}}), "E107");
  EXPECT_EQ(rule_of("classify", {{"classify.labels", "[a, \"\"]"}}), "E107");
  EXPECT_EQ(rule_of("classify", {{"classify.labels", "[a, b, a]"}}), "E107");
  EXPECT_EQ(rule_of("classify", {{"classify.labels", "[a, b, c]"}}), "");
}

TEST(ClassifyKeysTest, ThePositiveLabelIsOneOfThem) {
  Keys keys = {{"classify.labels", "[a, b, c]"}, {"classify.positive", "d"}};
  EXPECT_EQ(rule_of("classify", keys), "E107");
  keys["classify.positive"] = "b";
  EXPECT_EQ(rule_of("classify", keys), "");
  EXPECT_EQ(read_classify_config(config_for("classify", keys)).positive, 1U);
  keys.erase("classify.positive");
  EXPECT_EQ(read_classify_config(config_for("classify", keys)).positive, 2U);  // the last
}

TEST(ClassifyKeysTest, ALabelThatBeginsAnotherOneAlwaysWinsBySum) {
  Keys keys = {{"classify.labels", "[hate, hateful]"}};
  EXPECT_EQ(rule_of("classify", keys), "E124");
  keys["classify.normalize"] = "mean";
  EXPECT_EQ(rule_of("classify", keys), "");
  EXPECT_EQ(
      rule_of("classify", {{"classify.labels", "[hate, hateful]"}, {"classify.score", "generate"}}),
      "");
}

TEST(ClassifyKeysTest, AKeyThatChangesNothingIsRefused) {
  EXPECT_EQ(rule_of("classify", {{"classify.score", "generate"}, {"classify.normalize", "mean"}}),
            "E124");
  EXPECT_EQ(rule_of("classify", {{"classify.on_unparsed", "retry"}}), "E124");
  EXPECT_EQ(
      rule_of("classify", {{"classify.score", "generate"}, {"classify.on_unparsed", "retry"}}), "");
  EXPECT_EQ(rule_of("classify", {{"classify.strategy", "s"}}), "E124");
  EXPECT_EQ(rule_of("classify", {{"classify.strategy", "s"}, {"classify.prompt", "p"}}), "");
}

TEST(ClassifyKeysTest, AreToldInWords) {
  const auto text = [](Keys keys) {
    keys.emplace("classify.labels", "[a, b, c]");
    return classify_text(read_classify_config(config_for("classify", keys)));
  };
  EXPECT_EQ(text({}), "labels a, b and c, by log-probability");
  EXPECT_EQ(text({{"classify.normalize", "mean"}}),
            "labels a, b and c, by log-probability per token");
  EXPECT_EQ(text({{"classify.score", "generate"}}), "labels a, b and c, read in generated answers");
}

TEST(ClassifyKeysTest, UnparsedAnswersAreWhatTheKeySays) {
  const auto unparsed = [](const char* word) {
    return read_classify_config(config_for("classify", {{"classify.score", "generate"},
                                                        {"classify.on_unparsed", word}}))
        .on_unparsed;
  };
  EXPECT_EQ(unparsed("count"), Unparsed::count);
  EXPECT_EQ(unparsed("retry"), Unparsed::retry);
  EXPECT_EQ(unparsed("error"), Unparsed::error);
}

}  // namespace
}  // namespace mgpu::jobs
