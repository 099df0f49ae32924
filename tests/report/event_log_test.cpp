#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <gtest/gtest.h>

#include <mgpu/report/event_log.hpp>
#include <mgpu/report/rank_log.hpp>
#include <mgpu/report/text_format.hpp>

namespace mgpu::report {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line);
  return lines;
}

class EventLogTest : public testing::Test {
protected:
  EventLogTest() : folder_(fs::path(testing::TempDir()) / ("log." + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    options_.events_file = folder_ / "events.jsonl";
    options_.run_log = folder_ / "run.log";
  }
  ~EventLogTest() override { fs::remove_all(folder_); }

  EventLog log(const Terminal& terminal = {}) {
    return EventLog(options_, terminal,
                    {[this](std::string_view text) { out_ += text; },
                     [this](std::string_view text) { err_ += text; }},
                    {[this] { return now_s_; },
                     [this] {
                       return std::chrono::system_clock::time_point{
                           std::chrono::milliseconds(1795257727000 + std::llround(now_s_ * 1e3))};
                     }});
  }

  static Event train(std::int64_t step, std::int64_t total) {
    return {"train", {{"step", step}, {"total", total}, {"loss", 0.5}}};
  }

  std::string file(const char* name) const { return read_file(folder_ / name); }

  fs::path folder_;
  EventLog::Options options_;
  std::string out_;
  std::string err_;
  double now_s_ = 0.0;
};

TEST_F(EventLogTest, KnownFieldsHaveTheirOwnForm) {
  EventLog log = this->log();
  log.event({"eval",
             {{"step", std::int64_t{21000}},
              {"return", 14.21},
              {"first episode", 3.0},
              {"last episode", 14.646}}});
  log.event({"eval", {{"step", std::int64_t{21000}}, {"loss", 0.43881}}});
  log.event({"save", {{"step", std::int64_t{21000}}, {"seconds", 0.12}}});
  log.event({"note", {{"text", "continues after step 20000"}}});

  EXPECT_EQ(out_,
            "2026-11-21T10:42:07Z eval   step 21000  return 14.2  first episode 3  last episode "
            "14.65\n"
            "2026-11-21T10:42:07Z eval   step 21000  loss 0.4388\n"
            "2026-11-21T10:42:07Z save   step 21000  0.1 s\n"
            "2026-11-21T10:42:07Z note   continues after step 20000\n");
  EXPECT_EQ(file("run.log"), out_);
}

TEST_F(EventLogTest, AProgressLineOfTrainingHasRateAndEta) {
  EventLog log = this->log();
  Event event = {"train",
                 {{"step", std::int64_t{20640}},
                  {"total", std::int64_t{50000}},
                  {"loss", 0.41234},
                  {"grad", 0.8123},
                  {"lr", 2.1e-4}}};
  log.event(event);
  now_s_ = 1.0;
  event.fields[0].second = std::int64_t{20650};
  log.event(event);

  EXPECT_EQ(out_,
            "2026-11-21T10:42:08Z train  step 20650/50000 41.3%  loss 0.4123  grad 0.8123  lr "
            "0.00021  10.0 step/s  eta 0:48:55\n");
}

TEST_F(EventLogTest, AProgressLineOfRowsHasTheRateOfItsTokens) {
  EventLog log = this->log();
  Event event = {"gen",
                 {{"samples", std::int64_t{100}},
                  {"total", std::int64_t{400}},
                  {"tokens_per_second", 18963.4}}};
  log.event(event);
  now_s_ = 1.0;
  event.fields[0].second = std::int64_t{200};
  log.event(event);

  EXPECT_EQ(out_,
            "2026-11-21T10:42:08Z gen    samples 200/400 50.0%  18963 tokens/s  eta 0:00:02\n");
}

TEST_F(EventLogTest, AFileGetsFewLinesShortAndWithoutControlBytes) {
  EventLog log = this->log();
  for (int step = 0; step <= 30000; ++step) {
    now_s_ = 0.01 * step;
    log.event(train(step, 30000));
  }
  log.event({"warn", {{"text", std::string(500, 'x') + "\r\x1b[2J"}}});

  const std::vector<std::string> lines = lines_of(out_);
  EXPECT_EQ(lines.size(), 11U);  // at 1 2 5 10 30 60 120 180 240 300 s, and the warning
  for (const std::string& line : lines)
    EXPECT_LE(line.size(), 200U);
  EXPECT_EQ(out_.find_first_of("\r\x1b"), std::string::npos);
  EXPECT_TRUE(err_.empty());
}

TEST_F(EventLogTest, ALoopGoesOnAfterAnotherInterruptedIt) {
  EventLog log = this->log();
  for (int step = 0; step < 100; ++step) {
    now_s_ = step;
    log.event(train(step, 100));
    if (step % 10 == 0)
      log.event({"gen", {{"samples", std::int64_t{4}}, {"total", std::int64_t{4}}}});
  }

  std::vector<std::string> train_lines;
  for (const std::string& line : lines_of(out_))
    if (line.find(" train ") != std::string::npos) train_lines.push_back(line);
  EXPECT_EQ(train_lines.size(), 6U);  // at 1 2 5 10 30 60 s
  EXPECT_THAT(train_lines.back(), HasSubstr("step 60/100 60.0%  loss 0.5000  1.00 step/s  eta "
                                            "0:00:40"));
}

TEST_F(EventLogTest, SessionsThatDoTheSameHaveSeparateLoops) {
  EventLog log = this->log();
  for (int step = 0; step < 100; ++step) {
    now_s_ = step;
    for (const auto& [session, total] :
         std::map<std::string, std::int64_t>{{"a", 100}, {"b", 200}}) {
      Event named = train(step, total);
      named.fields.emplace(named.fields.begin(), "session", session);
      log.event(named);
    }
  }

  const std::vector<std::string> lines = lines_of(out_);
  EXPECT_EQ(lines.size(), 12U);  // of each session at 1 2 5 10 30 60 s
  EXPECT_THAT(lines.at(10), HasSubstr("session a  step 60/100 60.0%  loss 0.5000  1.00 step/s"));
  EXPECT_THAT(lines.at(11), HasSubstr("session b  step 60/200 30.0%  loss 0.5000  1.00 step/s"));
}

TEST_F(EventLogTest, EventsAreTypedJsonAndProgressIsThinned) {
  EventLog log = this->log();
  for (int step = 0; step <= 1000; ++step) {
    now_s_ = 0.01 * step;
    log.event(train(step, 1000));
  }
  log.event({"eval",
             {{"return", std::nan("")},
              {"loss", -std::numeric_limits<double>::infinity()},
              {"best", true},
              {"text", "bad \xFF byte\n"}}});

  const std::vector<std::string> lines = lines_of(file("events.jsonl"));
  EXPECT_EQ(lines.size(), 12U);  // at 0, 1, ..., 10 s, and the evaluation
  const auto first = nlohmann::json::parse(lines.front());
  EXPECT_EQ(first["time"], "2026-11-21T10:42:07.000Z");
  EXPECT_EQ(first["event"], "train");
  EXPECT_TRUE(first["step"].is_number_integer());
  EXPECT_TRUE(first["loss"].is_number_float());
  EXPECT_EQ(nlohmann::json::parse(lines[10])["step"], 1000);
  const auto eval = nlohmann::json::parse(lines.back());
  EXPECT_EQ(eval["return"], "nan");
  EXPECT_EQ(eval["loss"], "-inf");
  EXPECT_EQ(eval["best"], true);
  EXPECT_EQ(eval["text"], "bad \xEF\xBF\xBD byte\n");
}

TEST_F(EventLogTest, JsonGoesToStdoutAndWordsToStderr) {
  options_.json = true;
  EventLog log = this->log();
  log.event({"done", {{"text", "all"}}});
  log.print("a table\nof two lines\n");

  EXPECT_EQ(out_, file("events.jsonl"));
  EXPECT_THAT(err_, HasSubstr("done   all\na table\nof two lines\n"));
}

TEST_F(EventLogTest, OnAScreenLinesGoAroundTheBar) {
  EventLog log = this->log({.is_screen = true, .stdout_is_screen = true, .columns = 60});
  log.event(train(1, 4));
  log.event({"note", {{"text", "hello"}}});
  log.print("end of run");
  now_s_ = 0.1;
  log.event(train(4, 4));

  const std::string bar = "\rtrain  25% |#######-----------------------| 1/4  loss 0.500\x1b[K";
  EXPECT_EQ(err_, bar + "\r\x1b[K2026-11-21T10:42:07Z note   hello\n" + bar +
                      "\r\x1b[Kend of run\n\rtrain 100% |##############################| 4/4  "
                      "loss 0.500\x1b[K\n");
  EXPECT_TRUE(out_.empty());
  EXPECT_THAT(file("run.log"), HasSubstr("train  step 4/4 100.0%"));
}

TEST_F(EventLogTest, QuietLeavesWarningsAndTheLastLine) {
  options_.verbosity = Verbosity::quiet;
  EventLog log = this->log({.is_screen = true, .stdout_is_screen = true});
  log.event(train(4, 4));
  log.event({"note", {{"text", "n"}}});
  log.event({"warn", {{"text", "w"}}});
  log.print("banner");
  log.print_last_line("mgpu_spmd: done, exit 0");

  EXPECT_EQ(out_, "2026-11-21T10:42:07Z warn   w\nmgpu_spmd: done, exit 0\n");
  EXPECT_TRUE(err_.empty());
  EXPECT_THAT(file("run.log"), HasSubstr("banner\n"));
}

TEST_F(EventLogTest, DebugIsHeardWhenAskedFor) {
  EventLog(this->log()).event({"debug", {{"text", "d"}}});
  EXPECT_TRUE(out_.empty());
  options_.verbosity = Verbosity::verbose;
  EventLog(this->log()).event({"debug", {{"text", "d"}}});
  EXPECT_THAT(out_, HasSubstr("debug  d"));
}

TEST_F(EventLogTest, SecretsAreStarredEverywhere) {
  EventLog log = this->log();
  log.event({"note", {{"hub.token", "hf_abc"}, {"num_tokens", std::int64_t{7}}}});

  EXPECT_THAT(out_ + file("run.log") + file("events.jsonl"), Not(HasSubstr("hf_abc")));
  EXPECT_THAT(out_, HasSubstr("hub.token ***  num_tokens 7"));
}

TEST_F(EventLogTest, ATornLineOfAKilledRunIsEndedFirst) {
  std::ofstream(options_.events_file) << R"({"event":"tra)";
  EventLog log = this->log();
  log.event({"note", {{"text", "again"}}});

  const std::vector<std::string> lines = lines_of(file("events.jsonl"));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(nlohmann::json::parse(lines[1])["text"], "again");
}

TEST_F(EventLogTest, AFullDiskIsKeptForTheNextCheck) {
  options_.events_file = "/dev/full";
  EventLog log = this->log();
  EXPECT_NO_THROW(log.event({"note", {{"text", "lost"}}}));
  EXPECT_NO_THROW(log.event({"note", {{"text", "lost too"}}}));

  try {
    log.check();
    FAIL() << "the failure was swallowed";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code(), ExitCode::io);
  }
  EXPECT_THAT(lines_of(file("run.log")).size(), 2U);
}

TEST_F(EventLogTest, AFieldGivenTwiceIsOurBug) {
  EventLog log = this->log();
  EXPECT_THROW(log.event({"note", {{"time", "now"}}}), Error);
}

TEST_F(EventLogTest, ColorMarksTheWordsThatMatter) {
  Terminal terminal;
  terminal.color = true;
  EventLog log = this->log(terminal);
  log.event({"warn", {{"text", "w"}}});

  EXPECT_EQ(out_, "\x1b[33m2026-11-21T10:42:07Z warn   w\x1b[0m\n");
  EXPECT_EQ(file("run.log"), "2026-11-21T10:42:07Z warn   w\n");
}

TEST_F(EventLogTest, RankLogStartsWithWorkerAndDevices) {
  RankLog log(folder_, {5, 8, 2, 4, "node02", "4,5", "cuda:1 GPU-e7b3"});
  log.event({"warn", {{"text", "slow"}}});

  EXPECT_THAT(file("rank_05.log"), testing::StartsWith("Worker 2/4\nCUDA_VISIBLE_DEVICES: 4,5\n"
                                                       "rank 5 of 8 on node02, device cuda:1 "
                                                       "GPU-e7b3, since "));
  EXPECT_THAT(file("rank_05.log"), HasSubstr(" warn   slow\n"));
  EXPECT_EQ(rank_log_name(7, 1000), "rank_007.log");
}

}  // namespace
}  // namespace mgpu::report
