#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>

#include <gtest/gtest.h>

#include <mgpu/app/environment_report.hpp>
#include <mgpu/app/print_info.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/config/error_pages.hpp>

namespace mgpu::app {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr auto& kPages = kConfigErrors;

KeyTable table() {
  KeyTable keys;
  add_common_keys(keys, {"train"});
  return keys;
}

class InformTest : public testing::Test {
protected:
  void SetUp() override {
    file_ = fs::path(testing::TempDir()) / "print_info_test.yaml";
    std::ofstream(file_) << "schema: 1\njob: train\nrun: {seed: 5}\n";
  }
  void TearDown() override { fs::remove(file_); }

  std::string print(const std::string& form, const std::string& file) {
    Options options{.action = Action::print_config, .detail = form, .config = file};
    std::ostringstream out;
    EXPECT_EQ(print_info(options, table_, kPages, FileProvider::alone(), out), ExitCode::done);
    return out.str();
  }

  KeyTable table_ = table();
  fs::path file_;
};

TEST_F(InformTest, PrintsTheConfigInItsForms) {
  EXPECT_EQ(print("changed", file_.string()),
            "schema: 1  # " + file_.string() + ":1\njob: train  # " + file_.string() +
                ":2\nrun:\n  seed: 5  # " + file_.string() + ":3\n");
  EXPECT_THAT(print("resolved", file_.string()), HasSubstr("  chunk_size: auto\n"));
  EXPECT_THAT(print("json", file_.string()), HasSubstr("\"seed\": 5"));
  EXPECT_THAT(print("full", file_.string()), HasSubstr("  seed: 5  # " + file_.string() + ":3\n"));
  EXPECT_THAT(print("full", ""), HasSubstr("  seed: 0\n"));
  EXPECT_THAT(print("markdown", ""), HasSubstr("| `run.seed` | `0` | integer, 0 or more |"));
}

TEST_F(InformTest, ResolvedFedBackIsIdentical) {
  const std::string resolved = print("resolved", file_.string());
  std::ofstream(file_) << resolved;

  EXPECT_EQ(print("resolved", file_.string()), resolved);
}

TEST_F(InformTest, LeavesRunsAlone) {
  std::ostringstream out;
  for (const Action action : {Action::run, Action::check, Action::plan, Action::merge})
    EXPECT_EQ(print_info({.action = action}, table_, kPages, FileProvider::alone(), out),
              std::nullopt);
  EXPECT_EQ(out.str(), "");
}

TEST_F(InformTest, ExplainsKeysSectionsAndCodes) {
  EXPECT_EQ(explain(table_, kPages, "run.chunk_size"),
            "run.chunk_size\n"
            "  samples that are assigned, written and resumed as one piece; auto: up to 32, and "
            "fewer where rows are few or have several completions\n"
            "\n"
            "  values   integer, 1 to 65536, samples; or auto\n"
            "  default  auto\n"
            "  read by  all jobs\n"
            "  identity yes: another value is another run, with its own results\n");
  EXPECT_THAT(explain(table_, kPages, "log"), HasSubstr("log.tensorboard\n"));
  EXPECT_THAT(explain(table_, kPages, "e101"), HasSubstr("E101: unknown key\n\n"));

  table_.accept({"data.num_workers", "there are none"});
  EXPECT_EQ(explain(table_, kPages, "data.num_workers"),
            "data.num_workers\n  accepted without effect: there are none\n");
}

TEST_F(InformTest, EveryKeyAndEveryCodeHasAPage) {
  for (const KeySpec& spec : table_.keys()) {
    EXPECT_THAT(explain(table_, kPages, spec.name), HasSubstr(spec.summary));
    EXPECT_FALSE(spec.summary.empty()) << spec.name;
  }
  for (const ErrorPage& page : kPages)
    EXPECT_THAT(explain(table_, kPages, std::string(page.code)),
                HasSubstr(std::string(page.title)));
}

TEST_F(InformTest, UnknownTopicsGetASuggestion) {
  const auto refusal = [&](const std::string& topic) {
    try {
      return explain(table_, kPages, topic);
    } catch (const ConfigFailure& failure) {
      EXPECT_EQ(failure.exit_code(), ExitCode::usage);
      return std::string(failure.what());
    }
  };
  EXPECT_THAT(refusal("run.sede"), HasSubstr("did you mean --explain run.seed?"));
  EXPECT_EQ(explain(table_, kPages, "seed"), explain(table_, kPages, "run.seed"));
  EXPECT_THAT(refusal("E199"), HasSubstr("neither a key nor an error code"));
}

TEST(EnvironmentTest, ShowsSettingsButNoSecrets) {
  ::setenv("OMPI_MCA_btl_test", "7", 1);
  ::setenv("SLURM_JWT", "hidden", 1);
  ::setenv("MGPU_API_TOKEN", "hidden", 1);
  ::setenv("UNRELATED", "unrelated", 1);

  const std::string text = environment_text();

  EXPECT_THAT(text, HasSubstr("mgpu_spmd "));
  EXPECT_THAT(text, HasSubstr("  OMPI_MCA_btl_test=7\n"));
  EXPECT_THAT(text, Not(HasSubstr("hidden")));
  EXPECT_THAT(text, Not(HasSubstr("unrelated")));
}

}  // namespace
}  // namespace mgpu::app
