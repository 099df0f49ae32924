// Tests the keys that all jobs on rows and models read, and the checks of the files they name.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/config/config_problem.hpp>
#include <mgpu/rows/folder_facts.hpp>
#include <mgpu/rows/length_keys.hpp>
#include <mgpu/rows/model_folder.hpp>
#include <mgpu/rows/model_keys.hpp>
#include <mgpu/rows/model_rows.hpp>
#include <mgpu/rows/tokenizer_files.hpp>

#include "char_tokenizer.hpp"
#include "support/made_config.hpp"
#include "support/project_folder.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::rows {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::config_of;
using testing_support::Keys;
using testing_support::report_of_failure;

const fs::path kLlama = testing_support::lm_goldens() / "llama";  // 2 layers of 32, 67 tokens

Config teacher(Keys keys) {
  keys.emplace("job", "teacher");
  return config_of(keys);
}

std::string rule_of(const Keys& keys) {
  const Config config = teacher(keys);
  return report_of_failure([&] { check_model_keys(config, "data.path=FILE"); }).code;
}

TEST(LengthKeysTest, SayWhatBecomesOfALongSample) {
  EXPECT_EQ(read_length_keys(teacher({})).too_long, TooLong::truncate);
  EXPECT_EQ(read_length_keys(teacher({{"data.too_long", "drop"}})).too_long, TooLong::drop);
  EXPECT_EQ(read_length_keys(teacher({{"data.too_long", "error"}})).too_long, TooLong::error);
  EXPECT_THROW(teacher({{"data.max_length", "0"}}), ConfigFailure);
}

TEST(ModelKeysTest, AModelAndAFileAreNeeded) {
  EXPECT_EQ(rule_of({{"model.path", "m"}, {"data.path", "d"}}), "");
  EXPECT_EQ(rule_of({{"model.path", "m"}}), "E114");
  EXPECT_EQ(rule_of({{"data.path", "d"}}), "E114");
}

TEST(ModelKeysTest, GroupsOfSeveralSizesShareLayersOnly) {
  Keys keys = {{"model.path", "m"}, {"data.path", "d"}, {"devices.groups", "[1, 2]"}};
  keys["model.parallel"] = "tensor";
  EXPECT_EQ(rule_of(keys), "E124");
  keys["model.parallel"] = "pipeline";
  EXPECT_EQ(rule_of(keys), "");
  keys["model.parallel"] = "tensor";
  keys["devices.groups"] = "[2, 2]";
  EXPECT_EQ(rule_of(keys), "");
}

TEST(ModelKeysTest, APartHasToBeOneOfTheParts) {
  EXPECT_EQ(rule_of({{"model.path", "m"},
                     {"data.path", "d"},
                     {"run.worker_id", "2"},
                     {"run.total_workers", "2"}}),
            "E124");
}

TEST(ModelKeysTest, OnlySharedSumsDependOnTheGroup) {
  const auto ranks = [](const char* parallel) {
    return run::read_model_keys(
               teacher({{"model.parallel", parallel}, {"devices.gpus_per_model", "2"}}))
        .summing_ranks();
  };
  EXPECT_EQ(ranks("tensor"), 2);
  EXPECT_EQ(ranks("pipeline"), 1);
  const auto crc = [](const char* ranks_of_model) {
    return crc_with_groups(
        run::read_model_keys(
            teacher({{"model.parallel", "tensor"}, {"devices.gpus_per_model", ranks_of_model}})),
        5);
  };
  EXPECT_EQ(crc("1"), 5U);
  EXPECT_NE(crc("2"), 5U);
  EXPECT_NE(crc("2"), crc("4"));
}

TEST(ModelKeysTest, AFileThatIsNotThereIsSaidBeforeAnyWork) {
  const auto check = [](const Keys& keys, const char* help) {
    const Config config = teacher(keys);
    check_data_file(config, input::read_row_options(config), help);
  };
  const ErrorReport report = report_of_failure([&] {
    check({{"data.path", "/nowhere/rows.jsonl"}}, "a file of rows");
  });
  EXPECT_EQ(report.exit, ExitCode::no_input);
  EXPECT_THAT(report.sentence, HasSubstr("there is no such file: /nowhere/rows.jsonl"));
  EXPECT_NO_THROW(check({{"data.path", kLlama / "config.json"}}, ""));
}

TEST(ModelFolderTest, AFolderHasAConfig) {
  const testing_support::TemporaryFolder empty;
  const auto sentence = [](const fs::path& folder) {
    return report_of_failure([&] {
             check_model_folder(teacher({{"model.path", folder}}), folder);
           })
        .sentence;
  };
  EXPECT_EQ(sentence(kLlama), "");
  EXPECT_THAT(sentence(empty.path()), HasSubstr("the folder has no config.json"));
  EXPECT_THAT(sentence("/nowhere"), HasSubstr("there is no such folder"));
}

/// Returns the whole message about a model folder that cannot be used.
std::string message_about(const fs::path& folder, const std::string& job = "teacher") {
  const Config config = config_of({{"job", job}, {"model.path", folder}});
  const fs::path path = config.text("model.path");
  return render(report_of_failure([&] { check_model_folder(config, path); }));
}

TEST(ModelFolderTest, TheMessageHasWhatToType) {
  EXPECT_THAT(message_about("org/model-1B"),
              HasSubstr("hf download org/model-1B --local-dir models/model-1B and then "
                        "model.path=models/model-1B"));
  EXPECT_THAT(message_about("outputs/mine/latest/ckpt/last"), HasSubstr("run.name=mine"));
  EXPECT_THAT(message_about("modle"), HasSubstr("starts at the working directory"));
}

TEST(ModelFolderTest, AFolderOfARunLeadsToItsCheckpoint) {
  const testing_support::TemporaryFolder run;
  fs::create_directories(run.path() / "ckpt" / "last");
  fs::copy_file(kLlama / "config.json", run.path() / "ckpt" / "last" / "config.json");

  EXPECT_THAT(message_about(run.path()),
              HasSubstr("model.path=" + run.path().string() + "/ckpt/last"));
}

TEST(ModelFolderTest, APathInAHintCanBeTyped) {
  const testing_support::TemporaryFolder folder;
  const fs::path run = folder.path() / "my $run";
  fs::create_directories(run / "ckpt" / "last");
  fs::copy_file(kLlama / "config.json", run / "ckpt" / "last" / "config.json");
  const Config config = config_of({{"job", "teacher"}});

  EXPECT_THAT(render(report_of_failure([&] { check_model_folder(config, run); })),
              HasSubstr("'model.path=" + folder.path().string() + "/my $$run/ckpt/last'"));
}

TEST(ModelFolderTest, AFolderWithoutWeightsIsForARandomStartOfATrainingOrForAPlan) {
  const testing_support::TemporaryFolder folder;
  fs::copy_file(kLlama / "config.json", folder.path() / "config.json");

  EXPECT_THAT(message_about(folder.path(), "train"),
              HasSubstr("model.path=null model.init=" + folder.path().string()));
  EXPECT_THAT(message_about(folder.path(), "teacher"),
              AllOf(HasSubstr("download the weights, too; --plan needs none"),
                    Not(HasSubstr("model.init"))));
  EXPECT_NO_THROW(check_model_config(teacher({{"model.path", folder.path()}}), folder.path()));
}

TEST(ModelFolderTest, TheModelIsNamedWithItsSize) {
  EXPECT_THAT(describe_model(kLlama), HasSubstr("llama, "));
  EXPECT_THAT(describe_model(kLlama), HasSubstr(" k parameters in "));
}

/// Copies the model to a folder in which tests may change files.
class CopiedModelTest : public testing::Test {
protected:
  CopiedModelTest() {
    for (const char* name : {"config.json", "generation_config.json", "model.safetensors"})
      fs::copy_file(kLlama / name, copy_.path() / name);
  }

  void write(const char* name, const std::string& text) {
    std::ofstream(copy_.path() / name) << text;
  }

  ModelRows read(const Keys& more = {}) {
    write("rows.jsonl", R"({"token_ids": [1, 2], "id": "a"})");
    Keys keys = {{"model.path", copy_.path()}, {"data.path", copy_.path() / "rows.jsonl"}};
    keys.insert(more.begin(), more.end());
    const Config config = teacher(keys);
    ModelRowKeys row_keys = read_model_row_keys(config);
    row_keys.options.one_of = {"token_ids", "text"};
    row_keys.options.keeps = {"id"};
    return read_model_rows(config, row_keys);
  }

  const testing_support::TemporaryFolder copy_;
};

TEST_F(CopiedModelTest, TheFingerprintIsThatOfTheFilesNotOfTheirPlace) {
  EXPECT_EQ(model_fingerprint(copy_.path()), model_fingerprint(kLlama));
}

TEST_F(CopiedModelTest, AnyFileThatMattersChangesTheFingerprint) {
  std::uint32_t before = model_fingerprint(copy_.path());
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json",
                           "added_tokens.json", "chat_template.jinja"}) {
    write(name, "{}");
    const std::uint32_t after = model_fingerprint(copy_.path());
    EXPECT_NE(after, before) << name;
    before = after;
  }
  write("README.md", "nothing");
  EXPECT_EQ(model_fingerprint(copy_.path()), before);
}

TEST_F(CopiedModelTest, AnyWeightChangesTheFingerprint) {
  const std::uint32_t before = model_fingerprint(copy_.path());
  std::fstream file(copy_.path() / "model.safetensors",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put('\x7F');
  file.close();
  EXPECT_NE(model_fingerprint(copy_.path()), before);
}

TEST_F(CopiedModelTest, RowsComeWithTheirModelAndWhatIsKeptOfThem) {
  const ModelRows rows = read();

  EXPECT_EQ(rows.folder, copy_.path());
  EXPECT_EQ(rows.model.vocab, 67);
  EXPECT_EQ(rows.rows.rows(), 1);
  EXPECT_EQ(rows.kept.names(), std::vector<std::string>{"id"});
  EXPECT_FALSE(rows.text.has_value());  // without tokenizer.json
}

TEST_F(CopiedModelTest, TheNumberOfRowsAndModelIsThatOfAllThatMatters) {
  const std::uint32_t plain = read().crc;
  EXPECT_EQ(read().crc, plain);
  EXPECT_NE(read({{"model.parallel", "tensor"}, {"devices.gpus_per_model", "2"}}).crc, plain);
  write("tokenizer.json", test::char_tokenizer());
  const std::uint32_t with_text = read().crc;
  EXPECT_NE(with_text, plain);
  EXPECT_NE(read({{"data.chat_template", "none"}}).crc, with_text);
}

TEST_F(CopiedModelTest, AChatTemplateIsChosenByFileOrByName) {
  write("tokenizer.json", test::char_tokenizer());
  write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "default", "template": "D"}, {"name": "tool", "template": "T"}]})");
  write("mine.jinja", "M");
  const auto chosen = [&](const ChatChoice& choice) {
    return read_tokenizer_files(copy_.path(), choice)->chat_template.value_or("(folder's)");
  };
  EXPECT_EQ(chosen({}), "(folder's)");
  EXPECT_EQ(chosen({.is_none = true}), "");
  EXPECT_EQ(chosen({.chosen = "tool"}), "T");
  EXPECT_EQ(chosen({.chosen = copy_.path() / "mine.jinja"}), "M");
  const ErrorReport absent = report_of_failure([&] { chosen({.chosen = "toool"}); });
  EXPECT_EQ(absent.code, "E603");
  EXPECT_THAT(absent.lines.back(), HasSubstr("`default`, `tool`"));
}

TEST_F(CopiedModelTest, AnEmptyOrBrokenTemplateIsRefused) {
  write("tokenizer.json", test::char_tokenizer());
  write("empty.jinja", "");
  write("bytes.jinja", "\xFF");
  for (const char* name : {"empty.jinja", "bytes.jinja"}) {
    const ChatChoice choice{.chosen = copy_.path() / name};
    EXPECT_EQ(report_of_failure([&] { read_tokenizer_files(copy_.path(), choice); }).code, "E544");
  }
}

TEST_F(CopiedModelTest, ATemplateIsLookedAtBeforeAnyWork) {
  write("tokenizer.json", test::char_tokenizer());
  write("good.jinja", "{{ 1 }}");
  write("bad.jinja", "{% if %}");
  const auto check = [&](const std::string& name) {
    const fs::path path = copy_.path() / name;
    const Config config = teacher({{"data.chat_template", path}});
    return report_of_failure(
        [&] { check_chat_template(config, copy_.path(), read_chat_choice(config)); });
  };
  EXPECT_EQ(check("good.jinja").code, "");
  EXPECT_EQ(check("bad.jinja").code, "E544");
  EXPECT_THAT(check("bad.jinja").lines.front(), HasSubstr("bad.jinja"));
  EXPECT_EQ(check("absent.jinja").exit, ExitCode::no_input);
}

TEST_F(CopiedModelTest, OnlyAnotherTemplateThanTheFoldersHasANumber) {
  EXPECT_EQ(chat_crc(std::nullopt), 0U);
  EXPECT_EQ(chat_crc(text::TextFiles{}), 0U);
  EXPECT_NE(chat_crc(test::char_files("a")), chat_crc(test::char_files("b")));
  EXPECT_NE(chat_crc(test::char_files("")), 0U);
}

TEST_F(CopiedModelTest, ChoicesAreReadFromTheKey) {
  const auto choice = [](const char* value) {
    return read_chat_choice(teacher({{"data.chat_template", value}}));
  };
  EXPECT_EQ(choice("auto").chosen, "");
  EXPECT_FALSE(choice("auto").is_none);
  EXPECT_TRUE(choice("none").is_none);
  EXPECT_EQ(choice("tool").chosen, "tool");
}

}  // namespace
}  // namespace mgpu::rows
