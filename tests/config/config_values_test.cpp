// Tests values in which the reader replaces or checks characters: variables, paths, durations.
#include <map>
#include <string>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/base/error.hpp>

#include "config_reader_case.hpp"

namespace mgpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using ConfigValuesTest = ConfigReaderCase;

TEST_F(ConfigValuesTest, HomeAndVariablesAreReplacedInPaths) {
  const std::map<std::string, std::string> expected = {
      {"~/data.csv", "/home/me/data.csv"},
      {"$SCRATCH/x.csv", "/scratch/me/x.csv"},
      {"${SCRATCH}/x.csv", "/scratch/me/x.csv"},
      {"$RELATIVE/x.csv", "/conf/sub/x.csv"},
      {"a/${RELATIVE}_$RELATIVE.csv", "/conf/a/sub_sub.csv"},
      {"$$SCRATCH/x.csv", "/conf/$SCRATCH/x.csv"},
      {"price$5$.csv", "/conf/price$5$.csv"},
      {"a~/x.csv", "/conf/a~/x.csv"}};
  for (const auto& [written, path] : expected)
    EXPECT_EQ(read_text(kEmptyRun + "data: {path: '" + written + "'}\n").text("data.path"), path)
        << written;
  const Config given = read({{"/conf/run.yaml", kEmptyRun}}, {}, {"run.output=~"});
  EXPECT_EQ(given.text("run.output"), "/home/me");
}

TEST_F(ConfigValuesTest, AnExpandedPathIsPartOfTheIdentityAndCanBeReadBack) {
  environment_["SCRATCH"] = "/scratch/$me";
  const Config config = read_text(kEmptyRun + "data: {path: $SCRATCH/x.csv}\n");
  const Config again = read_text(config.resolved_yaml());

  EXPECT_EQ(config.text("data.path"), "/scratch/$me/x.csv");
  EXPECT_EQ(again.text("data.path"), "/scratch/$me/x.csv");
  EXPECT_EQ(config.identity(), again.identity());
  environment_["SCRATCH"] = "/other";
  EXPECT_NE(read_text(kEmptyRun + "data: {path: $SCRATCH/x.csv}\n").identity(), config.identity());
}

TEST_F(ConfigValuesTest, ATextWithAVariableOfTheCommandLineCanBeReadBack) {
  table_.add({.name = "run.note", .type = KeyType::text, .default_value = "", .summary = "a note"});
  for (const std::string argument :
       {"run.note=${HOME}_run", "run.note=$${HOME}", "run.note=a $ {b} $$ $$${c",
        "data.labels=['${x}', 'b ${', $]", "data.labels={'${x}': '0', b: '$${y'}"}) {
    const Config config = read({{"/conf/run.yaml", kEmptyRun}}, {}, {argument});
    const Config again = read_text(config.resolved_yaml());

    EXPECT_EQ(config.shown("run.note"), again.shown("run.note")) << config.resolved_yaml();
    EXPECT_EQ(config.shown("data.labels"), again.shown("data.labels")) << config.resolved_yaml();
    EXPECT_EQ(config.identity(), again.identity());
  }
  EXPECT_EQ(read_text(kEmptyRun + "run: {note: 'the $${x} of $$'}\n").text("run.note"),
            "the ${x} of $$");
}

TEST_F(ConfigValuesTest, AQuotedTextIsOneItemOfAList) {
  const auto labels = [&](const std::string& written) {
    return read_text(kEmptyRun + "data:\n  labels: " + written + "\n").texts("data.labels");
  };
  EXPECT_THAT(labels("\"\\n\\n\""), ElementsAre("\n\n"));
  EXPECT_THAT(labels("' '"), ElementsAre(" "));
  EXPECT_THAT(labels("\"However, \""), ElementsAre("However, "));
  EXPECT_THAT(labels("'### '"), ElementsAre("### "));
  EXPECT_THAT(labels("\"Yes, sir\""), ElementsAre("Yes, sir"));
  EXPECT_THAT(labels("'[/INST]'"), ElementsAre("[/INST]"));
  EXPECT_THAT(labels("|\n    a, b"), ElementsAre("a, b\n"));
  EXPECT_THAT(labels("''"), IsEmpty());
  EXPECT_THAT(labels("a, b"), ElementsAre("a", "b"));
}

TEST_F(ConfigValuesTest, QuotesOfTheCommandLineBelongToTheItemsOfAList) {
  const auto labels = [&](const std::string& written) {
    return read({{"/conf/run.yaml", kEmptyRun}}, {}, {"data.labels=" + written})
        .texts("data.labels");
  };
  EXPECT_THAT(labels(R"("a", "b, c")"), ElementsAre("a", "b, c"));
  EXPECT_THAT(labels(R"("\n\n")"), ElementsAre("\n\n"));
  EXPECT_THAT(labels("'a'"), ElementsAre("a"));
  EXPECT_THAT(labels(R"("")"), IsEmpty());
  std::string quoted = "'it''s', ";
  for (int label = 0; label < 1000; ++label)
    quoted += "'it''s, \"" + std::to_string(label) + "', ";
  EXPECT_EQ(labels("[" + quoted + "b]").at(1000), "it's, \"999");
  for (const char* empty : {"\n\n", " ", ","}) {
    try {
      labels(empty);
      ADD_FAILURE() << "nothing is refused";
    } catch (const ConfigFailure& failure) {
      EXPECT_EQ(failure.problems().at(0).code, "E104");
      EXPECT_THAT(failure.problems().at(0).help, HasSubstr("double quotes"));
    }
  }
}

TEST_F(ConfigValuesTest, LongTextsAndListsCanBeReadBack) {
  table_.add({.name = "run.note", .type = KeyType::text, .default_value = "", .summary = "a note"});
  std::string text = kEmptyRun + "run:\n  note: |\n";
  for (int line = 0; line < 2000; ++line)
    text += "    it's \"" + std::to_string(line) + "\" \\ \t" +
            std::string(static_cast<std::size_t>(line % 50), ' ') + "é漢, [\n";
  text += "data:\n  labels:\n";
  for (int label = 0; label < 3000; ++label)
    text += "    - \"label, it's \\\"" + std::to_string(label) + "\\\"\"\n";

  const Config config = read_text(text);
  const Config again = read_text(config.resolved_yaml());

  EXPECT_EQ(again.text("run.note"), config.text("run.note"));
  EXPECT_EQ(again.texts("data.labels"), config.texts("data.labels"));
  EXPECT_EQ(config.texts("data.labels").size(), 3000U);
  EXPECT_EQ(again.identity(), config.identity());
}

TEST_F(ConfigValuesTest, AControlCharacterOfTheCommandLineIsRefused) {
  for (const std::string bad : {"a\x01z", "a\rz", "a\x7Fz"}) {
    try {
      (void)read({{"/conf/run.yaml", kEmptyRun}}, {}, {"data.path=" + bad});
      ADD_FAILURE() << "read";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.report().code, "E110");
    }
  }
}

TEST_F(ConfigValuesTest, AnyDurationCanBeReadBack) {
  for (const std::string seconds : {"1.25", "90", "5400", "7.2e3", "1e16", "3.6e25"}) {
    const Config config = read({{"/conf/run.yaml", kEmptyRun}}, {}, {"run.time_limit=" + seconds});
    const Config again = read_text(config.resolved_yaml());

    EXPECT_EQ(again.seconds("run.time_limit"), std::stod(seconds)) << config.resolved_yaml();
    EXPECT_EQ(config.identity(), again.identity());
  }
}

TEST_F(ConfigValuesTest, ANumberTooSmallForADoubleIsZero) {
  EXPECT_EQ(read_text(kEmptyRun + "train: {learning_rate: 1e-400}\n").number("train.learning_rate"),
            0.0);
}

TEST_F(ConfigValuesTest, VariablesThatAreNotSetAreRefused) {
  for (const char* path : {"$SCRTCH/x.csv", "${EMPTY}/x.csv", "${SCRATCH/x.csv", "~other/x.csv"}) {
    try {
      (void)read_text(kEmptyRun + "data: {path: '" + path + "'}\n");
      ADD_FAILURE() << path << " is accepted";
    } catch (const ConfigFailure& failure) {
      EXPECT_EQ(failure.problems()[0].code, "E115") << path;
      EXPECT_NE(failure.problems()[0].help, "") << path;
    }
  }
}

TEST_F(ConfigValuesTest, VariablesAreReplacedInIncludes) {
  const Config config = read({{"/conf/run.yaml", kEmptyRun + "include: $SCRATCH/a.yaml\n"},
                              {"/scratch/me/a.yaml", "run: {seed: 9}\n"}});

  EXPECT_EQ(config.integer("run.seed"), 9);
}

TEST_F(ConfigValuesTest, OneModelOfAHubIsLookedForInTheCache) {
  table_.add({.name = "model.path",
              .type = KeyType::path,
              .default_value = "null",
              .summary = "a model",
              .choices = {"null"},
              .is_model = true});
  const std::string text = kEmptyRun + "model: {path: org/known}\n";
  const Config config = read({{"/conf/run.yaml", text}});

  EXPECT_EQ(config.text("model.path"), "/cache/known");
  EXPECT_EQ(config.written("model.path"), "org/known");
  EXPECT_THAT(asked_models_, ElementsAre("/conf/org/known org/known"));
  EXPECT_THAT(config.notes(), ElementsAre(HasSubstr("is taken from the Hugging Face cache")));
  const Config local = read({{"/conf/run.yaml", text}}, {}, {"model.path=other"});
  EXPECT_EQ(local.text("model.path"), "/work/other");
  EXPECT_THAT(local.notes(), IsEmpty());
}

}  // namespace
}  // namespace mgpu
