#include <algorithm>
#include <initializer_list>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/app/cli.hpp>

namespace mgpu::app {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Options parse(std::initializer_list<const char*> arguments) {
  std::vector<const char*> argv = {"mgpu_spmd"};
  argv.insert(argv.end(), arguments);
  KeyTable table;
  table.add({.name = "train.max_grad_norm",
             .type = KeyType::number,
             .default_value = "1.0",
             .summary = "longer gradients are scaled down",
             .foreign = {{"gradient_clipping", "accelerate"}}});
  return parse_command_line(static_cast<int>(argv.size()), argv.data(), table);
}

/// Returns the rendered failure, whose exit code has to be 64; "" if the arguments are accepted.
std::string refusal(std::initializer_list<const char*> arguments) {
  try {
    parse(arguments);
    return "";
  } catch (const ConfigFailure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::usage);
    return render(failure.report());
  }
}

/// Formats an override with its place: "devices.gpus=1,3 @ command line, argument 2".
std::string shown(const Override& change) {
  return change.key + "=" + change.value + " @ " + change.origin;
}

TEST(CliTest, TakesAFileAndOverridesInAnyOrder) {
  const Options options = parse({"a.b=1", "conf/x.yaml", "devices.gpus=1,3,5", "c.d=x=y"});

  EXPECT_EQ(options.action, Action::run);
  EXPECT_EQ(options.config, "conf/x.yaml");
  ASSERT_EQ(options.overrides.size(), 3U);
  EXPECT_EQ(shown(options.overrides[0]), "a.b=1 @ command line, argument 1");
  EXPECT_EQ(shown(options.overrides[1]), "devices.gpus=1,3,5 @ command line, argument 3");
  EXPECT_EQ(shown(options.overrides[2]), "c.d=x=y @ command line, argument 4");
  EXPECT_EQ(options.overrides[1].value_column, 14);
}

TEST(CliTest, ALongArgumentIsRefusedBeforeItIsMatched) {
  const std::string letters(100'000, 'x');
  for (const std::string& argument : {"run.name=" + letters, "--output=" + letters, letters}) {
    const std::string refused = refusal({"a.yaml", argument.c_str()});
    EXPECT_THAT(refused, HasSubstr("E143"));
    EXPECT_THAT(refused, HasSubstr("argument 2 has 1000"));
    EXPECT_LT(refused.size(), 600U);
  }
}

TEST(CliTest, OptionsBecomeOverridesWithTheirPlace) {
  const Options options =
      parse({"x.yaml", "--gpus", "1,3", "--gpus-per-model=2", "--name", "n", "--output", "o",
             "--resume", "--time-limit", "30min", "--set", "a.b=[1, 2]"});

  ASSERT_EQ(options.overrides.size(), 7U);
  EXPECT_EQ(shown(options.overrides[0]), "devices.gpus=1,3 @ command line, argument 2");
  EXPECT_EQ(options.overrides[0].argument, "--gpus 1,3");
  EXPECT_EQ(options.overrides[0].value_column, 8);
  EXPECT_EQ(shown(options.overrides[1]), "devices.gpus_per_model=2 @ command line, argument 4");
  EXPECT_EQ(options.overrides[1].value_column, 18);
  EXPECT_EQ(shown(options.overrides[2]), "run.name=n @ command line, argument 5");
  EXPECT_EQ(shown(options.overrides[3]), "run.output=o @ command line, argument 7");
  EXPECT_EQ(shown(options.overrides[4]), "run.resume=auto @ command line, argument 9");
  EXPECT_EQ(shown(options.overrides[5]), "run.time_limit=30min @ command line, argument 10");
  EXPECT_EQ(shown(options.overrides[6]), "a.b=[1, 2] @ command line, argument 12");
}

TEST(CliTest, UnderscoresInOptionNamesAreDashes) {
  const Options options = parse({"x.yaml", "--gpus_per_model", "2", "--print_config=full"});

  EXPECT_EQ(shown(options.overrides.at(0)), "devices.gpus_per_model=2 @ command line, argument 2");
  EXPECT_EQ(options.action, Action::print_config);
  EXPECT_EQ(options.detail, "full");
}

TEST(CliTest, OverlaysKeepTheirOrder) {
  const Options options = parse({"x.yaml", "--with", "b.yaml", "--with=a,b.yaml"});

  EXPECT_THAT(options.overlays, ElementsAre("b.yaml", "a,b.yaml"));
}

TEST(CliTest, OptionalValuesHaveADefault) {
  EXPECT_EQ(parse({"x.yaml", "--plan"}).detail, "text");
  EXPECT_EQ(parse({"x.yaml", "--plan=json"}).detail, "json");
  EXPECT_EQ(parse({"--print-config", "x.yaml"}).detail, "resolved");
  EXPECT_EQ(parse({"--print-config", "x.yaml"}).config, "x.yaml");
  EXPECT_EQ(parse({"x.yaml", "--resume=outputs/a"}).overrides.at(0).value, "outputs/a");
}

TEST(CliTest, ActionsWithoutAConfig) {
  EXPECT_EQ(parse({"--help"}).action, Action::help);
  EXPECT_EQ(parse({"-h"}).action, Action::help);
  EXPECT_EQ(parse({"--version", "-v"}).action, Action::version);
  EXPECT_TRUE(parse({"--version", "-v"}).verbose);
  EXPECT_EQ(parse({"--env"}).action, Action::environment);
  EXPECT_EQ(parse({"--check"}).action, Action::check);
  EXPECT_EQ(parse({"--check", "--gpus=0"}).action, Action::check);
  EXPECT_THAT(refusal({"--check", "model.path=x"}), HasSubstr("no configuration is given"));
  EXPECT_THAT(refusal({"--check", "--set", "a.b=x"}), HasSubstr("no configuration is given"));
  EXPECT_EQ(parse({"--explain", "E101"}).detail, "E101");
  EXPECT_EQ(parse({"--merge", "outputs/a"}).detail, "outputs/a");
  EXPECT_EQ(parse({"--merge", "a", "b", "c.yaml"}).detail, "a");
  EXPECT_THAT(parse({"--merge", "a", "b", "c.yaml"}).more_directories,
              testing::ElementsAre("b", "c.yaml"));
  EXPECT_EQ(parse({"--merge", "a", "b", "run.name=c"}).overrides.size(), 1U);
  EXPECT_THAT(refusal({"--merge", "a", "run.name=c"}), HasSubstr("takes no settings"));
  EXPECT_THAT(refusal({"--merge", "a", "--set", "run.name=c"}), HasSubstr("takes no settings"));
  EXPECT_THAT(refusal({"--merge", "a", "--name", "c"}), HasSubstr("takes no settings"));
  EXPECT_THAT(refusal({"--merge", "a", "--with", "c.yaml"}), HasSubstr("takes no settings"));
  EXPECT_EQ(parse({"--export", "jsonl", "outputs/a"}).detail, "jsonl");
  EXPECT_EQ(parse({"--export", "jsonl", "outputs/a"}).config, "outputs/a");
  EXPECT_EQ(parse({"--compare", "outputs/a", "outputs/b"}).detail, "outputs/a");
  EXPECT_EQ(parse({"--compare", "outputs/a", "outputs/b"}).config, "outputs/b");
  EXPECT_THAT(refusal({"--compare", "a", "b", "run.seed=9"}),
              HasSubstr("--compare a b uses the settings of the runs"));
  EXPECT_THAT(refusal({"--compare", "a", "b", "--with", "c.yaml"}), HasSubstr("takes no settings"));
  EXPECT_EQ(parse({"--print-config=full"}).action, Action::print_config);
}

TEST(CliTest, OnlySetsTwoKeys) {
  const std::vector<Override> overrides = parse({"x.yaml", "--only", "1/4"}).overrides;

  ASSERT_EQ(overrides.size(), 2U);
  EXPECT_EQ(overrides[0].key + "=" + overrides[0].value, "run.worker_id=1");
  EXPECT_EQ(overrides[1].key + "=" + overrides[1].value, "run.total_workers=4");
  for (const char* wrong : {"--only=1", "--only=1/", "--only=/4", "--only=a/4", "--only=-1/4"})
    EXPECT_THAT(refusal({"x.yaml", wrong}), HasSubstr("--only needs I/N")) << wrong;
}

TEST(CliTest, SelectChoosesCellsOfAnExperiment) {
  const auto value_of = [](const char* argument) {
    return parse({"x.yaml", "--select", argument}).overrides.at(0).value;
  };
  EXPECT_EQ(parse({"x.yaml", "--select=round=0"}).overrides.at(0).key, "select");
  EXPECT_EQ(value_of("algorithm=PITA,round=0"), "{algorithm: \"PITA\", round: \"0\"}");
  EXPECT_EQ(value_of("algorithm=pita,algorithm=dpo"), "{algorithm: \"pita dpo\"}");
  for (const char* wrong : {"--select=pita", "--select=algorithm=", "--select==0",
                            "--select=round=0,,", "--select=round=\"0", "--select="})
    EXPECT_THAT(refusal({"x.yaml", wrong}), HasSubstr("--select needs NAME=VALUE")) << wrong;
}

TEST(CliTest, SmallOptions) {
  const Options options = parse({"-", "-qv", "--json", "--progress=lines", "--color", "never"});

  EXPECT_EQ(options.config, "-");
  EXPECT_TRUE(options.quiet && options.verbose && options.json);
  EXPECT_EQ(options.progress, "lines");
  EXPECT_EQ(options.color, "never");
  EXPECT_THAT(options.overrides, IsEmpty());
}

TEST(CliTest, NoConfig) {
  EXPECT_THAT(refusal({}), HasSubstr("error[E141]: no configuration is given"));
  EXPECT_THAT(refusal({"a.b=1"}), HasSubstr("E141"));
  EXPECT_THAT(refusal({"--plan"}), HasSubstr("E141"));
  EXPECT_THAT(refusal({"--resume=a/run"}),
              HasSubstr("give that run's: a/run/repro/config.resolved.yaml"));
  EXPECT_THAT(refusal({""}), HasSubstr("E144"));
}

TEST(CliTest, TwoConfigs) {
  EXPECT_EQ(refusal({"a.yaml", "b.yaml"}),
            "error[E141]: two configurations are given\n"
            "  --> command line, argument 2: b.yaml\n"
            "                                ^^^^^^\n"
            "  = help: --with b.yaml lays it over a.yaml\n"
            "\n"
            "1 error on the command line; nothing was started.");
}

TEST(CliTest, UnknownOptions) {
  EXPECT_EQ(refusal({"a.yaml", "--chek", "--gpu-per-model=2"}),
            "error[E142]: unknown option --chek\n"
            "  --> command line, argument 2: --chek\n"
            "                                ^^^^^^\n"
            "  = help: did you mean --check?\n"
            "\n"
            "error[E142]: unknown option --gpu-per-model=2\n"
            "  --> command line, argument 3: --gpu-per-model=2\n"
            "                                ^^^^^^^^^^^^^^^^^\n"
            "  = help: did you mean --gpus-per-model?\n"
            "\n"
            "2 errors on the command line; nothing was started.");
  EXPECT_THAT(refusal({"a.yaml", "--expl"}), HasSubstr("did you mean --explain?"));
  EXPECT_THAT(refusal({"a.yaml", "--zzzzzz"}), HasSubstr("--help shows all options"));
  EXPECT_THAT(refusal({"a.yaml", "-x"}), HasSubstr("unknown option -x"));
  EXPECT_THAT(refusal({"a.yaml", "--gradient-clipping=1"}),
              HasSubstr("= help: here it is `train.max_grad_norm`"));
  EXPECT_THAT(refusal({"a.yaml", "-gpus", "3"}), HasSubstr("did you mean --gpus?"));
}

TEST(CliTest, OptionsThatAreKeysOrOfOtherProgramsSayWhatToType) {
  const auto expect_help = [](std::initializer_list<const char*> arguments, const char* help) {
    EXPECT_THAT(refusal(arguments), HasSubstr(std::string("= help: ") + help));
  };
  expect_help({"a.yaml", "--max_grad_norm", "10"}, "a key has no dashes: train.max_grad_norm=10");
  expect_help({"a.yaml", "--max-grad-norm=10"}, "a key has no dashes: train.max_grad_norm=10");
  expect_help({"a.yaml", "--train.max_grad_norm", "a.b=1"},
              "a key has no dashes: train.max_grad_norm=VALUE");
  expect_help({"a.yaml", "--dry-run"}, "--plan shows the work, --check looks for mistakes first");
}

TEST(CliTest, EverySingleLetterMissingFromAnOptionIsUnderstood) {
  for (const OptionRow& row : option_rows()) {
    for (std::size_t i = 1; i < row.name.size(); ++i) {
      std::string typo = "--" + std::string(row.name).erase(i, 1);
      EXPECT_THAT(refusal({"a.yaml", typo.c_str()}),
                  HasSubstr("did you mean --" + std::string(row.name) + "?"))
          << typo;
    }
  }
}

TEST(CliTest, OptionalValueNeedsTheEqualsSign) {
  EXPECT_EQ(refusal({"a.yaml", "--resume", "never"}),
            "error[E144]: \"never\" is neither the configuration nor KEY=VALUE\n"
            "  --> command line, argument 3: never\n"
            "                                ^^^^^\n"
            "  = help: did you mean --resume=never?\n"
            "\n"
            "1 error on the command line; nothing was started.");
  EXPECT_THAT(refusal({"--plan", "json", "a.yaml"}), HasSubstr("did you mean --plan=json?"));
}

TEST(CliTest, WordsThatMeanNothing) {
  EXPECT_THAT(refusal({"a.yaml", "check"}), HasSubstr("did you mean --check?"));
  EXPECT_THAT(refusal({"a.yaml", "train.max_steps", "=", "5"}),
              HasSubstr("write train.max_steps=VALUE, without blanks around the ="));
}

TEST(CliTest, ValuesAreChecked) {
  EXPECT_THAT(refusal({"a.yaml", "--progress=liens"}),
              HasSubstr("--progress does not know \"liens\""));
  EXPECT_THAT(refusal({"a.yaml", "--progress=liens"}), HasSubstr("did you mean `lines`?"));
  EXPECT_THAT(refusal({"--export", "jsonl"}), HasSubstr("no run directory is given"));
  EXPECT_THAT(refusal({"--compare", "a"}), HasSubstr("only one run directory is given"));
  EXPECT_THAT(refusal({"--compare", "a", "b", "c"}), HasSubstr("\"c\" is neither"));
  EXPECT_THAT(refusal({"a.yaml", "--plan=xml"}), HasSubstr("one of: text|json"));
  EXPECT_THAT(refusal({"a.yaml", "--set", "max_steps"}), HasSubstr("--set needs KEY=VALUE"));
  EXPECT_THAT(refusal({"a.yaml", "--gpus"}), HasSubstr("--gpus needs a value"));
  EXPECT_THAT(refusal({"a.yaml", "--gpus", "--check"}), HasSubstr("--gpus needs a value"));
  EXPECT_THAT(refusal({"a.yaml", "--", "--gpus"}), HasSubstr("\"--gpus\" is neither"));
  EXPECT_THAT(refusal({"a.yaml", "--check=yes"}), HasSubstr("E143"));
}

TEST(CliTest, TwoActionsExcludeEachOther) {
  EXPECT_THAT(refusal({"a.yaml", "--check", "--plan"}),
              HasSubstr("--plan and --check exclude each other"));
  EXPECT_EQ(parse({"a.yaml", "--check", "--help"}).action, Action::help);
}

TEST(CliTest, HelpFitsOneScreenAndHasEveryOption) {
  const std::string help = help_text();

  EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 50);
  for (const OptionRow& row : option_rows()) {
    EXPECT_THAT(help, HasSubstr("--" + std::string(row.name)));
    EXPECT_FALSE(row.text.empty()) << row.name;
    EXPECT_THAT(help, HasSubstr(std::string(row.text) + "\n"));
  }
  std::size_t begin = 0;
  for (std::size_t end = help.find('\n'); end != std::string::npos; end = help.find('\n', begin)) {
    EXPECT_LE(end - begin, 100U) << help.substr(begin, end - begin);
    begin = end + 1;
  }
}

TEST(CliTest, OptionsArePinned) {
  std::string names;
  for (const OptionRow& row : option_rows())
    names += std::string(row.name) + " ";

  EXPECT_EQ(names,
            "set with gpus gpus-per-model name output resume time-limit only select check plan "
            "print-config "
            "explain env merge export compare progress color quiet verbose json help version ");
}

}  // namespace
}  // namespace mgpu::app
