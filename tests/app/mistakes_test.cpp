// Tests common mistakes on the command line and in configurations. Each message must show something
// to type that corrects the mistake.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/app/commands.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/jobs/job.hpp>

#include "support/project_folder.hpp"
#include "support/temporary_folder.hpp"

namespace mgpu::app {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Words = std::vector<std::string>;

constexpr const char* kTrain = "schema: 1\njob: train\ndevices: {backend: mpi}\n";

/// Starts --plan in a temporary folder that has some data and a model without weights.
class MistakesTest : public testing::Test {
protected:
  void SetUp() override {
    fs::current_path(folder_.path());
    copy_model("model");
    write("prompts.jsonl", "{\"prompt\": \"12 + 7 =\"}\n");
    write("questions.jsonl", "{\"question\": \"12 + 7 =\"}\n");
    write("questions.csv", "question,answer\n12 + 7 =,19\n");
    write("train.yaml", kTrain);
    write("generate.yaml",
          "schema: 1\njob: generate\ndevices: {backend: mpi}\n"
          "model: {path: model}\ndata: {path: prompts.jsonl}\n");
  }
  void TearDown() override { fs::current_path("/"); }

  static void write(const std::string& name, const std::string& text) {
    std::ofstream(name) << text;
  }

  static void copy_model(const fs::path& name) {
    fs::create_directories(fs::absolute(name).parent_path());
    fs::copy(testing_support::project_folder() / "conf/examples/tiny_lm/model", name);
  }

  /// Prints the plan or, if `checks` is true, checks the files that a run needs. Returns the
  /// message of the failure, or "" without a failure.
  static std::string message_of(const Words& words, bool checks = false) {
    std::vector<const char*> argv = {"mgpu_spmd"};
    for (const std::string& word : words)
      argv.push_back(word.c_str());
    const FileProvider files = FileProvider::alone();
    std::ostringstream out;
    try {
      const Options options =
          parse_command_line(static_cast<int>(argv.size()), argv.data(), program_keys());
      if (!checks) {
        print_plan(options, files, out);
        return "";
      }
      const Config config = load_config(options, program_keys(), files);
      jobs::read_job(config)->check_files();
    } catch (const Failure& failure) {
      return render(failure.report());
    }
    return "";
  }

  /// Returns the plan that the program prints.
  static std::string plan_of(const Words& words) {
    std::vector<const char*> argv = {"mgpu_spmd"};
    for (const std::string& word : words)
      argv.push_back(word.c_str());
    std::ostringstream out;
    print_plan(parse_command_line(static_cast<int>(argv.size()), argv.data(), program_keys()),
               FileProvider::alone(), out);
    return out.str();
  }

  /// Expects that `wrong` fails with a message that has `offer`, and that `mended` does not fail.
  static void expect_way_out(const Words& wrong, const std::string& offer, const Words& mended) {
    EXPECT_THAT(message_of(wrong), HasSubstr(offer));
    EXPECT_EQ(message_of(mended), "");
  }

  testing_support::TemporaryFolder folder_;
};

TEST_F(MistakesTest, NamesOfKeys) {
  expect_way_out({"train.yaml", "train.max_step=10"}, "did you mean `train.max_steps`?",
                 {"train.yaml", "train.max_steps=10"});
  expect_way_out({"train.yaml", "train.lr=1e-3"}, "here it is `train.learning_rate`",
                 {"train.yaml", "train.learning_rate=1e-3"});
  expect_way_out({"train.yaml", "train.batch_size=64"}, "`train.global_batch_size`",
                 {"train.yaml", "train.global_batch_size=64"});
  expect_way_out({"train.yaml", "model.hidden_size=64"}, "`model.tf_n_embd`",
                 {"train.yaml", "model.tf_n_embd=64"});
  expect_way_out({"train.yaml", "job=trian"}, "did you mean `train`?", {"train.yaml", "job=train"});
}

TEST_F(MistakesTest, Options) {
  expect_way_out({"train.yaml", "--max_steps", "10"}, "train.max_steps=10",
                 {"train.yaml", "train.max_steps=10"});
  expect_way_out({"train.yaml", "--dry-run"}, "--plan", {"train.yaml", "--plan"});
  expect_way_out({"train.yaml", "train.max_steps", "10"}, "write train.max_steps=VALUE",
                 {"train.yaml", "train.max_steps=10"});
  expect_way_out({"trian.yaml"}, "/train.yaml?", {"train.yaml"});
  EXPECT_EQ(message_of({"train.yaml", "--gpus", "0-3", "devices.backend=auto"}), "");
}

TEST_F(MistakesTest, Values) {
  const auto layout = [](const char* more) {
    return Words{"train.yaml", "run.deterministic=layout", "train.lanes=4", more};
  };
  expect_way_out(layout("train.global_batch_size=30"), "train.global_batch_size=32",
                 layout("train.global_batch_size=32"));
  expect_way_out(layout("devices.world=3"), "start 1, 2, 4 ranks", layout("devices.world=4"));
  write("types.yaml", std::string(kTrain) + "train: {max_steps: ten, eval_every: \"8\"}\n");
  const std::string types = message_of({"types.yaml"});
  EXPECT_THAT(types, HasSubstr("expected an integer"));
  EXPECT_THAT(types, HasSubstr("2 errors"));
  EXPECT_EQ(message_of({"generate.yaml", "generate.temperature=0.8", "generate.num_samples=4"}),
            "");
}

TEST_F(MistakesTest, TextsInYaml) {
  write("quote.yaml", std::string(kTrain) + "run: {name: \"a}\n");
  EXPECT_THAT(message_of({"quote.yaml"}), HasSubstr("close it with \""));
  write("flow.yaml", std::string(kTrain) + "run: {seed: 1, name: Is this: spam?}\n");
  const std::string offer = "name: \"Is this: spam?\"";
  EXPECT_THAT(message_of({"flow.yaml"}), HasSubstr("write " + offer));
  write("block.yaml", std::string(kTrain) + "run:\n  name: Is this: spam?\n");
  EXPECT_THAT(message_of({"block.yaml"}), HasSubstr("write " + offer));
  write("mended.yaml", std::string(kTrain) + "run:\n  " + offer + "\n");
  EXPECT_THAT(message_of({"mended.yaml"}), Not(HasSubstr("E108")));  // run.name refuses ":" and "?"
}

TEST_F(MistakesTest, ModelsThatTheCacheHasInPart) {
  ::setenv("HF_HUB_CACHE", (folder_.path() / "hub").c_str(), 1);
  const Words words = {"generate.yaml", "model.path=org/model-1B"};
  const fs::path model = folder_.path() / "hub" / "models--org--model-1B";
  fs::create_directories(model / "refs");
  fs::create_directories(model / "snapshots" / "abc");
  std::ofstream(model / "refs" / "main") << "abc";
  const std::string sentence = "the copy of org/model-1B in the Hugging Face cache is not complete";

  EXPECT_THAT(message_of(words), AllOf(HasSubstr(sentence), HasSubstr("it has no config.json"),
                                       HasSubstr("hf download org/model-1B\n")));
  fs::remove(model / "snapshots" / "abc");
  copy_model(model / "snapshots" / "abc");
  EXPECT_EQ(message_of(words), "");  // a plan needs no weights
  EXPECT_THAT(message_of(words, /*checks=*/true),
              AllOf(HasSubstr(sentence), HasSubstr("model.safetensors"),
                    HasSubstr("hf download org/model-1B; --plan needs no weights")));
  ::unsetenv("HF_HUB_CACHE");
}

TEST_F(MistakesTest, Models) {
  const Words hub = {"generate.yaml", "model.path=org/model-1B"};
  EXPECT_THAT(message_of(hub),
              HasSubstr("hf download org/model-1B --local-dir models/model-1B and then "
                        "model.path=models/model-1B"));
  copy_model("models/model-1B");
  EXPECT_EQ(message_of({"generate.yaml", "model.path=models/model-1B"}), "");

  const Words run = {"generate.yaml", "model.path=outputs/mine/latest/ckpt/last"};
  EXPECT_THAT(message_of(run), HasSubstr("run.name=mine"));
  copy_model("outputs/mine/latest/ckpt/last");
  EXPECT_EQ(message_of(run), "");
  expect_way_out({"generate.yaml", "model.path=outputs/mine/latest"},
                 "model.path=" + (folder_.path() / "outputs/mine/latest/ckpt/last").string(), run);
  expect_way_out({"generate.yaml", "model.path=modle"}, "starts at the working directory",
                 {"generate.yaml", "model.path=model"});
}

TEST_F(MistakesTest, AModelWithoutWeights) {
  EXPECT_THAT(message_of({"generate.yaml"}, true), HasSubstr("download the weights, too"));
  const std::string model = (folder_.path() / "model").string();
  write("texts.jsonl", "{\"text\": \"12 + 7 = 19\"}\n");
  const Words training = {"train.yaml", "model.path=" + model, "data.path=texts.jsonl"};
  EXPECT_THAT(message_of(training, true), HasSubstr("model.path=null model.init=" + model));
  EXPECT_EQ(
      message_of({"train.yaml", "model.path=null", "model.init=" + model, "data.path=texts.jsonl"},
                 true),
      "");
}

TEST_F(MistakesTest, APlanNeedsNoWeights) {
  write("texts.jsonl", "{\"text\": \"12 + 7 = 19\"}\n");
  const Words tuning = {"train.yaml", "model.path=model", "data.path=texts.jsonl"};
  EXPECT_EQ(message_of(tuning), "");
  EXPECT_THAT(message_of(tuning, true), HasSubstr("the folder has no weights"));
  const Words student = {"train.yaml", "model.init=model", "distill.model=model",
                         "data.path=texts.jsonl"};
  EXPECT_EQ(message_of(student), "");
  EXPECT_THAT(message_of(student, true), HasSubstr("the folder has no weights"));
}

TEST_F(MistakesTest, Columns) {
  expect_way_out({"generate.yaml", "data.path=questions.csv"}, "data.columns.prompt=question",
                 {"generate.yaml", "data.path=questions.csv", "data.columns.prompt=question"});
}

TEST_F(MistakesTest, MissingFilesAreSaidTogether) {
  const std::string message =
      message_of({"generate.yaml", "model.path=modle", "data.path=promts.jsonl"}, true);
  EXPECT_THAT(message, HasSubstr("there is no such folder"));
  EXPECT_THAT(message, HasSubstr("there is no such file"));
}

TEST_F(MistakesTest, AVariableThatIsNotSet) {
  ::unsetenv("MGPU_TEST_SCRATCH");
  const Words words = {"train.yaml", "run.output=$MGPU_TEST_SCRATCH/runs"};
  EXPECT_THAT(message_of(words), HasSubstr("export MGPU_TEST_SCRATCH=FOLDER"));
  ::setenv("MGPU_TEST_SCRATCH", folder_.path().c_str(), 1);
  EXPECT_EQ(message_of(words), "");
}

TEST_F(MistakesTest, ATemplateInsteadOfAFile) {
  write("texts.jsonl", "{\"text\": \"Win a prize\", \"label\": \"spam\"}\n");
  write("classify.yaml",
        "schema: 1\njob: classify\ndevices: {backend: mpi}\nmodel: {path: model}\n"
        "data: {path: texts.jsonl}\n"
        "classify: {labels: [ham, spam], prompt: \"Text: {text} Kind:\"}\n");
  EXPECT_EQ(message_of({"classify.yaml"}), "");
  expect_way_out({"classify.yaml", "classify.prompt=Text: Kind:"}, "a template with {text}",
                 {"classify.yaml", "classify.prompt=Text: {text} Kind:"});
}

TEST_F(MistakesTest, MoreRanksThanChunks) {
  write("four.jsonl",
        "{\"prompt\": \"1\"}\n{\"prompt\": \"2\"}\n{\"prompt\": \"3\"}\n{\"prompt\": \"4\"}\n");
  const auto plan = [](const char* more) {
    return plan_of({"generate.yaml", "data.path=four.jsonl", "devices.world=2", more});
  };
  const std::string idle = "1 of 2 ranks have nothing to do";
  EXPECT_THAT(plan("run.chunk_size=4"), AllOf(HasSubstr(idle), HasSubstr("run.chunk_size=2")));
  EXPECT_THAT(plan("run.chunk_size=2"), Not(HasSubstr(idle)));
}

TEST_F(MistakesTest, PromptsThatAreTooLongMayBeMarkedOrRefused) {
  for (const char* choice : {"generate.beyond_context=mark", "generate.beyond_context=stop"})
    EXPECT_EQ(message_of({"generate.yaml", choice}), "");
}

/// A mistake that takes more than a configuration. Another file tests its message.
struct ElsewhereTested {
  const char* mistake;
  const char* file;
  const char* test;
};
constexpr std::array kElsewhere = {
    ElsewhereTested{"a family that is not supported", "tests/lm/lm_config_test.cpp",
                    "WhatIsNotSupportedIsRefusedWithTheListOfWhatIs"},
    ElsewhereTested{"GPUs of a machine without any", "tests/cluster/device_choice_test.cpp",
                    "ARankWithoutGpuIsNamed"},
    ElsewhereTested{"prompts longer than the model was made for",
                    "tests/end_to_end/generate_inputs_test.py",
                    "test_prompts_beyond_the_context_are_counted_and_may_be_refused"},
    ElsewhereTested{"an output folder that cannot be written",
                    "tests/end_to_end/exit_codes_test.py", "test_73_output_cannot_be_created"},
    ElsewhereTested{"a file as output folder", "tests/end_to_end/exit_codes_test.py",
                    "test_73_output_is_where_nothing_can_be"},
    ElsewhereTested{"resuming with another configuration", "tests/end_to_end/exit_codes_test.py",
                    "test_73_resume_with_another_configuration"},
    ElsewhereTested{"line endings of Windows", "tests/config/config_errors/84_crlf.yaml", "\r\n"},
    ElsewhereTested{"tabs in YAML", "tests/config/config_errors/43_tab_indent.expected",
                    "YAML indents with spaces only"},
    ElsewhereTested{"a table of a training run", "tests/end_to_end/output_test.py",
                    "test_quiet_runs_show_their_result_and_folder"},
    ElsewhereTested{"bad rows", "tests/end_to_end/generate_inputs_test.py",
                    "test_bad_rows_are_named_by_line"},
};

TEST(MistakesElsewhereTest, HaveTheirTests) {
  for (const ElsewhereTested& row : kElsewhere) {
    std::ifstream file(testing_support::project_folder() / row.file, std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    EXPECT_THAT(text, HasSubstr(row.test)) << row.mistake;
  }
}

/// Returns a device_map that has the rank of each layer, followed by the text `more`.
std::string device_map(const std::vector<int>& ranks, const std::string& more = "") {
  std::string text;
  for (std::size_t layer = 0; layer < ranks.size(); ++layer)
    text += (layer == 0 ? "{\"model.layers." : ", \"model.layers.") + std::to_string(layer) +
            "\": " + std::to_string(ranks[layer]);
  return text + more + "}";
}

TEST_F(MistakesTest, DeviceMapsOfAccelerate) {
  const auto with_map = [](const std::string& map) {
    return Words{"generate.yaml", "devices.gpus_per_model=2", "model.device_map=" + map};
  };
  const std::string ends = ", \"model.embed_tokens\": 0, \"model.norm\": 1, \"lm_head\": 1";
  EXPECT_EQ(message_of(with_map(device_map({0, 0, 0, 1}, ends))), "");
  expect_way_out(with_map(device_map({0, 1, 0, 1})), "write [0, 0, 1, 1]",
                 with_map("[0, 0, 1, 1]"));
  expect_way_out(with_map(device_map({0, 0, 0, 1}, ", \"lm_head\": 0")), "write [0, 0, 0, 1]",
                 with_map("[0, 0, 0, 1]"));
  EXPECT_THAT(message_of(with_map("{\"model.layers.0\": cpu}")), HasSubstr("number of a rank"));
  EXPECT_THAT(message_of(with_map("{\"\": 0}")), HasSubstr("no entry names a layer"));
  EXPECT_THAT(message_of(with_map("{\"model.layers.1\": 0}")), HasSubstr("layer 0 has no device"));
}

TEST_F(MistakesTest, AFileMayHaveADeviceMapToo) {
  write("map.yaml",
        "schema: 1\njob: generate\ndevices: {backend: mpi, gpus_per_model: 2}\n"
        "model:\n  path: model\n  device_map: " +
            device_map({0, 0, 1, 1}) + "\ndata: {path: prompts.jsonl}\n");
  EXPECT_EQ(message_of({"map.yaml"}), "");
}

}  // namespace
}  // namespace mgpu::app
