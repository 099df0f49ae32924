#include <map>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/config/config_print.hpp>
#include <mgpu/config/config_reader.hpp>

#include "config_reader_case.hpp"

namespace mgpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using ConfigReaderTest = ConfigReaderCase;

TEST_F(ConfigReaderTest, DefaultsStandWhereNobodySaysOtherwise) {
  const Config config = read_text(kEmptyRun);

  EXPECT_EQ(config.integer("train.max_steps"), 50000);
  EXPECT_DOUBLE_EQ(config.number("train.learning_rate"), 3e-4);
  EXPECT_TRUE(config.is("devices.gpus", "all"));
  EXPECT_FALSE(config.is_given("train.max_steps"));
}

TEST_F(ConfigReaderTest, ReadsEveryType) {
  const Config config = read_text(kEmptyRun +
                                  "run: {name: 'no'}\n"
                                  "train: {max_steps: 12, learning_rate: .5, "
                                  "gradient_checkpointing: true, mixed_precision: no}\n"
                                  "comm: {timeout: 24:00:00}\n"
                                  "devices: {cache: 1.5GiB, gpus: [1, 3]}\n"
                                  "data: {labels: [normal, \"not, that\"], max_samples: null}\n");

  EXPECT_EQ(config.text("run.name"), "no");
  EXPECT_EQ(config.integer("train.max_steps"), 12);
  EXPECT_DOUBLE_EQ(config.number("train.learning_rate"), 0.5);
  EXPECT_TRUE(config.flag("train.gradient_checkpointing"));
  EXPECT_EQ(config.text("train.mixed_precision"), "no");
  EXPECT_DOUBLE_EQ(config.seconds("comm.timeout"), 86400.0);
  EXPECT_EQ(config.bytes("devices.cache"), 1610612736);
  EXPECT_THAT(config.integers("devices.gpus"), ElementsAre(1, 3));
  EXPECT_THAT(config.texts("data.labels"), ElementsAre("normal", "not, that"));
  EXPECT_TRUE(config.is("data.max_samples", "null"));
}

TEST_F(ConfigReaderTest, AListOfNamesMayGiveEachAValue) {
  for (const char* labels : {"{labels: {hate: 0, \"no: way\": \"1\"}}",
                             "\n  labels:\n    hate: \"0\"\n    \"no: way\": 1"}) {
    const Config config = read_text(kEmptyRun + "data: " + labels + "\n");
    EXPECT_THAT(config.texts("data.labels"), ElementsAre("hate", "no: way"));
    EXPECT_THAT(config.values("data.labels"), ElementsAre("0", "1"));
    const std::string shown = config.shown("data.labels");
    EXPECT_EQ(config.with("data.labels", shown).shown("data.labels"), shown);
  }
  const Config list = read_text(kEmptyRun + "data: {labels: [a, b]}\n");
  EXPECT_THAT(list.values("data.labels"), ElementsAre("a", "b"));
}

TEST_F(ConfigReaderTest, CommandLineWinsOverOverlayOverFileOverInclude) {
  const std::map<std::string, std::string> files = {
      {"/conf/run.yaml", kEmptyRun + "include: base/a.yaml\nrun: {name: file, seed: 2}\n"},
      {"/conf/base/a.yaml",
       "run: {name: include, seed: 1, chunk_size: 8}\n"
       "train: {max_steps: 1}\n"},
      {"/work/over.yaml", "train: {max_steps: 3}\nrun: {seed: 3}\n"}};

  const Config config = read(files, {"over.yaml"}, {"run.seed=4"});

  EXPECT_EQ(config.integer("run.chunk_size"), 8);
  EXPECT_EQ(config.text("run.name"), "file");
  EXPECT_EQ(config.integer("train.max_steps"), 3);
  EXPECT_EQ(config.integer("run.seed"), 4);
  EXPECT_EQ(source_of(config.place("run.chunk_size")), "../conf/base/a.yaml:1");
  EXPECT_EQ(source_of(config.place("run.name")), "../conf/run.yaml:4");
  EXPECT_EQ(source_of(config.place("train.max_steps")), "over.yaml:1");
  EXPECT_EQ(source_of(config.place("run.seed")), "command line, argument 2");
}

TEST_F(ConfigReaderTest, ValuesThatAreReplacedAreCheckedToo) {
  EXPECT_THROW(read({{"/conf/run.yaml", kEmptyRun + "train: {max_steps: few}\n"}}, {},
                    {"train.max_steps=3"}),
               ConfigFailure);
}

TEST_F(ConfigReaderTest, PathsStartWhereTheyAreWritten) {
  const std::map<std::string, std::string> files = {
      {"/conf/run.yaml", kEmptyRun + "include: [base/a.yaml]\n"},
      {"/conf/base/a.yaml", "data: {path: ../data/h.h5}\n"}};

  EXPECT_EQ(read(files).text("data.path"), "/conf/data/h.h5");
  EXPECT_EQ(read(files, {}, {"data.path=x/h.h5"}).text("data.path"), "/work/x/h.h5");
  EXPECT_EQ(read(files, {}, {"data.path=/abs/h.h5"}).text("data.path"), "/abs/h.h5");
  EXPECT_EQ(read(files).text("run.output"), "/work/outputs");
}

TEST_F(ConfigReaderTest, NamesBesidePathsStayAsTheyAre) {
  table_.add({.name = "data.template",
              .type = KeyType::path,
              .default_value = "auto",
              .summary = "a file, or a name",
              .choices = {"auto"},
              .file_ending = ".jinja"});
  const std::map<std::string, std::string> files = {{"/conf/run.yaml", kEmptyRun}};

  EXPECT_EQ(read(files, {}, {"data.template=short"}).text("data.template"), "short");
  EXPECT_EQ(read(files, {}, {"data.template=v1.5"}).text("data.template"), "v1.5");
  EXPECT_EQ(read(files, {}, {"data.template=./short"}).text("data.template"), "/work/short");
  EXPECT_EQ(read(files, {}, {"data.template=a.jinja"}).text("data.template"), "/work/a.jinja");
  EXPECT_TRUE(read(files, {}, {"data.template=auto"}).is("data.template", "auto"));
  EXPECT_EQ(read(files, {}, {"data.path=short"}).text("data.path"), "/work/short");
}

TEST_F(ConfigReaderTest, NamesWithoutEffectAreAcceptedAndNoted) {
  table_.accept({"data.num_workers", "there are none"});

  const Config config = read({{"/conf/run.yaml", kEmptyRun + "data: {num_workers: 4}\n"}}, {},
                             {"data.num_workers=8"});

  EXPECT_THAT(
      config.notes(),
      ElementsAre("../conf/run.yaml:3: `data.num_workers` has no effect: there are none",
                  "command line, argument 2: `data.num_workers` has no effect: there are none"));
}

TEST_F(ConfigReaderTest, GuideNamesAreAcceptedAndNoted) {
  const Config config = read_text(kEmptyRun +
                                  "experiment: {name: mine}\n"
                                  "training: {max_steps: 5}\n"
                                  "train_batch_size: 256\n"
                                  "distillation: {dataset: {max_samples: 10}}\n");

  EXPECT_EQ(config.text("run.name"), "mine");
  EXPECT_EQ(config.integer("train.max_steps"), 5);
  EXPECT_EQ(config.integer("train.global_batch_size"), 256);
  EXPECT_EQ(config.integer("data.max_samples"), 10);
  EXPECT_THAT(
      config.notes(),
      ElementsAre("../conf/run.yaml:3: `experiment.name` is read as `run.name`",
                  "../conf/run.yaml:4: `training.max_steps` is read as `train.max_steps`",
                  "../conf/run.yaml:5: `train_batch_size` is read as `train.global_batch_size`",
                  "../conf/run.yaml:6: `distillation.dataset.max_samples` is read as "
                  "`data.max_samples`"));
}

TEST_F(ConfigReaderTest, CommasAndListsOfTheCommandLineAreTakenAsWritten) {
  const std::map<std::string, std::string> files = {{"/conf/run.yaml", kEmptyRun}};

  EXPECT_THAT(read(files, {}, {"devices.gpus=1,3,5"}).integers("devices.gpus"),
              ElementsAre(1, 3, 5));
  EXPECT_THAT(read(files, {}, {"devices.gpus=[1, 3]"}).integers("devices.gpus"), ElementsAre(1, 3));
  EXPECT_EQ(read(files, {}, {"run.name=a,b: c # d"}).text("run.name"), "a,b: c # d");
}

TEST_F(ConfigReaderTest, ResolvedReadsBackAsItself) {
  const Config config = read_text(kEmptyRun +
                                  "run: {name: \"a: b # \\\"c\\\"\", time_limit: 90min}\n"
                                  "train: {learning_rate: 1e-5, mixed_precision: no}\n"
                                  "comm: {timeout: 0.1h}\n"
                                  "devices: {cache: 48GiB, gpus: [1, 3, 5]}\n"
                                  "data: {labels: [\"yes\", \"x, y\", plain], path: h.h5}\n");
  const std::string resolved = config.resolved_yaml();

  const Config again = read({{"/elsewhere/r.yaml", ""}, {"/conf/run.yaml", resolved}});

  EXPECT_EQ(again.resolved_yaml(), resolved);
  EXPECT_EQ(again.identity(), config.identity());
  for (const KeySpec& spec : table_.keys())
    EXPECT_EQ(again.is_given(spec.name), spec.name != "include") << spec.name;
}

TEST_F(ConfigReaderTest, ChangedReadsBackAsTheSameConfig) {
  const Config config = read_text(kEmptyRun + "train: {max_steps: 7}\nrun: {seed: 3}\n");

  const std::string changed = print_changed(config);

  EXPECT_EQ(read_text(changed).resolved_yaml(), config.resolved_yaml());
  EXPECT_THAT(changed, HasSubstr("  max_steps: 7  # ../conf/run.yaml:3\n"));
  EXPECT_THAT(config.not_default(), ElementsAre("run.seed", "train.max_steps"));
}

TEST_F(ConfigReaderTest, AKeyThatIsGivenItsDefaultIsNotChanged) {
  EXPECT_THAT(read_text(kEmptyRun + "run: {seed: 0}\n").not_default(), IsEmpty());
}

TEST_F(ConfigReaderTest, FullFileIsAConfigOfDefaults) {
  const std::string full = print_full(table_);

  EXPECT_EQ(read_text(full).identity(), read_text(kEmptyRun).identity());
  for (const KeySpec& spec : table_.keys())
    EXPECT_THAT(full, HasSubstr("# " + spec.summary));
}

TEST_F(ConfigReaderTest, IdentityIgnoresSpellingAndPlacement) {
  const std::string base = read_text(kEmptyRun).identity();

  EXPECT_EQ(read_text(kEmptyRun + "train: {learning_rate: 0.0003}\n").identity(), base);
  EXPECT_EQ(read_text(kEmptyRun + "comm: {timeout: 1h}\n").identity(), base);
  EXPECT_NE(read_text(kEmptyRun + "run: {seed: 1}\n").identity(), base);
}

TEST_F(ConfigReaderTest, JsonHasTypesAndSections) {
  const std::string json = print_json(read_text(kEmptyRun + "train: {max_steps: 7}\n"));

  EXPECT_THAT(json, HasSubstr("\"schema\": 1,"));
  EXPECT_THAT(json, HasSubstr("  \"train\": {\n    \"max_steps\": 7,"));
  EXPECT_THAT(json, HasSubstr("\"path\": null"));
}

TEST_F(ConfigReaderTest, RulesBetweenKeysPointAtTheValue) {
  const Config config = read_text(kEmptyRun + "train:\n  max_steps: 7\n");

  const std::string given = render(config.problem("E121", "train.max_steps", "too few").report());
  const std::string not_given = render(config.problem("E121", "run.seed", "too small").report());

  EXPECT_EQ(given,
            "error[E121]: too few\n"
            "  --> ../conf/run.yaml:4:14\n"
            "  |\n"
            "4 |   max_steps: 7\n"
            "  |              ^ `train.max_steps` is set here");
  EXPECT_EQ(not_given, "error[E121]: too small\n  --> `run.seed` is 0 by default");
}

TEST_F(ConfigReaderTest, MarkdownHasARowPerKey) {
  const std::string markdown = key_reference_markdown(table_);

  for (const KeySpec& spec : table_.keys())
    EXPECT_THAT(markdown, HasSubstr("| `" + spec.name + "` | "));
}

TEST(KeyTableTest, RefusesDoublesAndWrongDefaults) {
  KeyTable table = config_test_table();

  EXPECT_THROW(table.add({.name = "run.seed", .default_value = "", .summary = ""}), Error);
  EXPECT_THROW(table.add({.name = "experiment.name", .default_value = "", .summary = ""}), Error);
  EXPECT_THROW(table.add({.name = "train", .default_value = "", .summary = ""}), Error);
  EXPECT_THROW(table.add({.name = "run.seed.low", .default_value = "", .summary = ""}), Error);
  EXPECT_THROW(
      table.add({.name = "a.b", .type = KeyType::integer, .default_value = "one", .summary = ""}),
      Error);
}

TEST(ConfigTest, GettersTakeOnlyTheirType) {
  const KeyTable table = config_test_table();
  const Config config(table, {{"run.seed", {.text = "7"}}});

  EXPECT_EQ(config.integer("run.seed"), 7);
  EXPECT_THROW(config.number("run.seed"), Error);
  EXPECT_THROW(config.integer("no.such.key"), Error);
  EXPECT_THROW(config.integer("train.micro_batch_size"), Error);  // it is the word auto
  EXPECT_THROW(Config(table, {{"run.sede", {.text = "7"}}}), Error);
  EXPECT_THROW(Config(table, {{"run.seed", {.text = "x"}}}), Error);
}

}  // namespace
}  // namespace mgpu
