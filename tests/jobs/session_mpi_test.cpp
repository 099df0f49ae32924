// Tests sessions of job generate that run in parallel on parts of the ranks.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <thread>

#include <gmock/gmock.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <mgpu/app/load_config.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/run/session.hpp>

#include "app/run_for_test.hpp"
#include "app/tiny_run.hpp"
#include "jobs/generate/job.hpp"
#include "support/project_folder.hpp"

namespace mgpu::run {
namespace {

using app::test::SharedFolder;

/// Keeps the events and curves that a run shows.
class Shown final : public EventSink, public ScalarSink {
public:
  void event(const Event& event) override { events.push_back(event); }
  void scalar(std::string_view tag, std::int64_t, double) override { tags.emplace_back(tag); }

  std::int64_t of_session(const std::string& name) const {
    return std::count_if(events.begin(), events.end(), [&](const Event& event) {
      return event.fields.front() == std::pair<std::string, Event::Value>("session", name);
    });
  }

  std::int64_t failures_of_session(const std::string& name) const {
    return std::count_if(events.begin(), events.end(), [&](const Event& event) {
      return event.word == "error" &&
             event.fields.front() == std::pair<std::string, Event::Value>("session", name);
    });
  }

  std::int64_t curves_of_session(const std::string& name) const {
    return std::count_if(tags.begin(), tags.end(),
                         [&](const std::string& tag) { return tag.starts_with(name + "/"); });
  }

  std::vector<Event> events;
  std::vector<std::string> tags;
};

/// Makes a run of all ranks, in which the tests start sessions.
class SessionTest : public testing::Test {
protected:
  Config config_of(const std::string& rows, std::int64_t seed) const {
    app::Options options;
    options.overrides = {{"job", "generate"},
                         {"model.path", model_},
                         {"data.path", rows},
                         {"run.seed", std::to_string(seed)},
                         {"run.chunk_size", "2"},
                         {"run.schedule", "static"},  // the leader writes curves for its chunks
                         {"run.output", (folder_.path() / "outputs").string()},
                         {"generate.max_new_tokens", "6"},
                         {"generate.num_samples", "2"},
                         {"generate.do_sample", "true"},
                         {"devices.backend", "mpi"}};
    return app::load_config(options, app::program_keys(), FileProvider::alone());
  }

  std::string rows(const std::string& name, const std::string& last) const {
    std::string text;
    for (int i = 0; i < 9; ++i)
      text += "{\"token_ids\": [1, " + std::to_string(5 + i) + ", 3]}\n";
    return folder_.write(name, text + last);
  }

  /// Returns the request for a session of job generate on the ranks `members`, in a new run
  /// directory.
  SessionRequest request_of(const std::string& name, Config config,
                            std::vector<int> members) const {
    store::RunRequest directory = app::test::request_of(config);
    directory.name = name;
    directory.resume = "never";
    return {name, std::move(members), std::move(config), std::move(directory)};
  }

  /// Copies the folder of a model, and returns the path of the copy. A copy is needed because a
  /// test counts how often the weights are opened. Ranks: collective.
  std::string make_model() const {
    const std::filesystem::path copy = folder_.path() / "model";
    if (world_.rank() == 0) std::filesystem::copy(testing_support::lm_goldens() / "llama", copy);
    world_.barrier();
    return copy.string();
  }

  static std::string results_of(const Session& session) {
    return read_file(session.directory() / "results.h5");
  }

  const cluster::Group world_ = cluster::Group::world();
  const SharedFolder folder_{world_};
  const std::string model_ = make_model();
  const std::string good_ = rows("good.jsonl", "");
  const std::string other_ = rows("other.jsonl", "{\"token_ids\": [2, 4]}\n");
  const std::string bad_ = rows("bad.jsonl", "{\"token_ids\": [100000]}\n");
  Shown shown_;
  app::test::RunForTest<Shown> run_{world_, config_of(good_, 1),
                                    app::test::request_of(config_of(good_, 1)), shown_};
};

std::vector<int> ranks_from(int first, int end) {
  std::vector<int> ranks(static_cast<std::size_t>(end - first));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

TEST_F(SessionTest, TwoSideBySideHaveTheBytesOfEachAlone) {
  const int half = world_.size() / 2;
  const bool is_low = world_.rank() < half;
  SessionHost host(run_.context());
  std::string alone;
  for (const bool low : {true, false}) {
    Session session(host, request_of("alone", config_of(low ? good_ : other_, low ? 1 : 2),
                                     ranks_from(0, world_.size())));
    EXPECT_FALSE(session.run(jobs::run_job).failure);
    if (low == is_low) alone = results_of(session);
    world_.barrier();
  }

  Session session(
      host, request_of(is_low ? "low" : "high", config_of(is_low ? good_ : other_, is_low ? 1 : 2),
                       is_low ? ranks_from(0, half) : ranks_from(half, world_.size())));
  const SessionOutcome outcome = session.run(jobs::run_job);
  host.close();

  EXPECT_FALSE(outcome.failure);
  EXPECT_EQ(outcome.job.exit, ExitCode::done);
  EXPECT_EQ(results_of(session), alone);
  if (world_.rank() == 0) {
    EXPECT_GT(shown_.of_session("low"), 0);
    EXPECT_GT(shown_.of_session("high"), 0);
    EXPECT_GT(shown_.curves_of_session("low"), 0);
    EXPECT_EQ(shown_.curves_of_session("low") > 0, shown_.curves_of_session("high") > 0);
  }
}

/// Counts the opens of a file by any process of the machine, as reported by the kernel. A thread
/// reads the events immediately, since the kernel merges equal pending events: two simultaneous
/// opens may count once.
class OpenCount {
public:
  explicit OpenCount(const std::string& path) : queue_(::inotify_init1(0)) {
    ::inotify_add_watch(queue_, path.c_str(), IN_OPEN | IN_ATTRIB);
    thread_ = std::thread([this] { take(); });
  }
  ~OpenCount() {
    thread_.join();
    ::close(queue_);
  }
  OpenCount(const OpenCount&) = delete;
  OpenCount& operator=(const OpenCount&) = delete;

  int count() const { return opens_; }

private:
  /// Runs until the attributes of the file change.
  void take() {
    for (;;) {
      std::array<char, 1 << 12> events{};
      const ssize_t bytes = ::read(queue_, events.data(), events.size());
      for (ssize_t at = 0; at < bytes; at += static_cast<ssize_t>(sizeof(inotify_event))) {
        inotify_event event{};
        std::memcpy(&event, events.data() + at, sizeof event);
        if ((event.mask & IN_ATTRIB) != 0) return;
        ++opens_;
      }
    }
  }

  int queue_;
  std::atomic<int> opens_ = 0;
  std::thread thread_;
};

// One open reads the facts of the folder, another one the weights.
TEST_F(SessionTest, AFolderIsReadOncePerNodeWhateverTheSessions) {
  const std::string weights = model_ + "/model.safetensors";
  std::optional<OpenCount> opens;
  if (world_.rank() == 0) opens.emplace(weights);
  world_.barrier();
  SessionHost host(run_.context());
  for (int round = 0; round < 3; ++round) {
    const int rank = world_.rank();
    Session session(host, request_of("s" + std::to_string(rank) + "_" + std::to_string(round),
                                     config_of(good_, rank + round), {rank}));
    EXPECT_FALSE(session.run(jobs::run_job).failure);
  }
  Session all(host, request_of("all", config_of(good_, 1), ranks_from(0, world_.size())));
  EXPECT_FALSE(all.run(jobs::run_job).failure);
  host.close();
  if (opens) {
    EXPECT_GE(opens->count(), 1);
    EXPECT_LE(opens->count(), 2);  // of 13 sessions on 4 ranks
    std::filesystem::permissions(weights, std::filesystem::perms::owner_read);  // ends the count
  }
  world_.barrier();
}

TEST_F(SessionTest, AFolderThatWasWrittenToIsReadAgain) {
  SessionHost host(run_.context());
  const auto results = [&](const std::string& name) {
    Session session(host, request_of(name, config_of(good_, 1), ranks_from(0, world_.size())));
    EXPECT_FALSE(session.run(jobs::run_job).failure);
    return results_of(session);
  };
  const std::string first = results("first");
  const std::string second = results("second");
  const std::string weights = model_ + "/model.safetensors";
  if (world_.rank() == 0) {
    std::string bytes = read_file(weights);
    for (std::size_t at = bytes.size() / 2; at < bytes.size(); at += 4)
      bytes[at] = 0;  // lowest bits
    bytes[bytes.size() / 2 + 3] = 0x3f;
    std::ofstream(weights, std::ios::binary) << bytes;
  }
  world_.barrier();
  EXPECT_EQ(first, second);
  EXPECT_NE(results("changed"), first);
  host.close();
}

TEST_F(SessionTest, OneFailsAndTheOtherIsWhole) {
  const int half = world_.size() / 2;
  const bool is_low = world_.rank() < half;
  SessionHost host(run_.context());
  Session alone(host, request_of("alone", config_of(good_, 1), ranks_from(0, world_.size())));
  EXPECT_FALSE(alone.run(jobs::run_job).failure);
  Session session(host, request_of(is_low ? "whole" : "fails", config_of(is_low ? good_ : bad_, 1),
                                   is_low ? ranks_from(0, half) : ranks_from(half, world_.size())));
  const SessionOutcome outcome = session.run(jobs::run_job);
  const SessionsEnd end = host.close();

  EXPECT_EQ(outcome.failure.has_value(), !is_low);
  EXPECT_EQ(std::filesystem::exists(session.directory() / "results.h5"), is_low);
  if (is_low) {
    EXPECT_EQ(results_of(session), results_of(alone));
  }
  EXPECT_EQ(outcome.job.exit, is_low ? ExitCode::done : ExitCode::data);
  EXPECT_EQ(outcome.failure ? outcome.failure->code : "", is_low ? "" : "E531");
  EXPECT_EQ(end.exit, ExitCode::incomplete);
  if (world_.rank() == 0) {
    EXPECT_EQ(shown_.failures_of_session("fails"), 1);
    EXPECT_EQ(end.notes.size(), 1U);
    for (const report::Note& note : end.notes)
      EXPECT_THAT(note.sentence(),
                  testing::AllOf(testing::HasSubstr("bad.jsonl:10: token 100000"),
                                 testing::HasSubstr(". Session fails has failed with E531.")));
  }
  world_.barrier();  // the world still works
}

// Only the failed rank knows of such a failure, so it must end the world.
TEST_F(SessionTest, ALoneFailureLeavesTheSession) {
  SessionHost host(run_.context());
  Session session(
      host, request_of("s" + std::to_string(world_.rank()), config_of(good_, 1), {world_.rank()}));
  const auto fails = [](RunContext&) -> JobOutcome {
    throw cluster::DivergedFailure({"E402", ExitCode::ranks_lost, "late", {}, ""});
  };

  EXPECT_THROW(session.run(fails), cluster::DivergedFailure);
  EXPECT_EQ(shown_.failures_of_session("s0"), 0);
}

TEST_F(SessionTest, TheGroupOfSomeRanksIsMadeOnce) {
  const std::vector<int> all = ranks_from(0, world_.size());
  SessionHost host(run_.context());
  const cluster::Group& first = host.group_of(all);
  const cluster::Group& alone = host.group_of({world_.rank()});

  EXPECT_EQ(&host.group_of(all), &first);
  EXPECT_EQ(&host.group_of({world_.rank()}), &alone);
  EXPECT_EQ(alone.size(), 1);
}

TEST_F(SessionTest, ADirectoryThatCannotBeOpenedEndsItsSessionOnly) {
  const bool is_low = world_.rank() < world_.size() / 2;
  SessionRequest request = request_of(
      is_low ? "whole" : "fails", config_of(good_, 1),
      is_low ? ranks_from(0, world_.size() / 2) : ranks_from(world_.size() / 2, world_.size()));
  if (!is_low) request.directory.output = good_;  // a file
  SessionHost host(run_.context());
  Session session(host, std::move(request));
  bool has_run = false;
  const SessionOutcome outcome = session.run([&](RunContext& run) {
    has_run = true;
    return jobs::run_job(run);
  });

  EXPECT_EQ(has_run, is_low);
  EXPECT_EQ(session.directory().empty(), !is_low);
  EXPECT_EQ(outcome.failure ? outcome.failure->code : "", is_low ? "" : "E601");
  EXPECT_EQ(outcome.job.exit, is_low ? ExitCode::done : ExitCode::cannot_create);
  EXPECT_EQ(host.close().exit, ExitCode::incomplete);
  if (world_.rank() == 0) {
    EXPECT_EQ(shown_.failures_of_session("fails"), 1);
  }
}

TEST_F(SessionTest, AModelThatCannotBeSplitEndsItsSessionOnly) {
  const bool is_low = world_.rank() < world_.size() / 2;
  const Config config = config_of(good_, 1);
  SessionHost host(run_.context());
  Session session(host, request_of(is_low ? "whole" : "fails",
                                   is_low ? config : config.with("devices.gpus_per_model", "5"),
                                   is_low ? ranks_from(0, world_.size() / 2)
                                          : ranks_from(world_.size() / 2, world_.size())));
  const SessionOutcome outcome = session.run(jobs::run_job);
  EXPECT_EQ(outcome.failure ? outcome.failure->code : "", is_low ? "" : "E121");
  EXPECT_EQ(host.close().exit, ExitCode::incomplete);
}

TEST_F(SessionTest, TheRunEndsAsTheWorstOfItsSessions) {
  const auto exit_of_run = [&](const std::vector<ExitCode>& exits) {
    SessionHost host(run_.context());
    for (const ExitCode exit : exits) {
      const int rank = world_.rank();
      Session session(host, request_of("s" + std::to_string(rank), config_of(good_, 1), {rank}));
      session.run([&](RunContext&) {
        JobOutcome outcome;
        outcome.exit = rank == world_.size() - 1 ? exit : ExitCode::done;
        return outcome;
      });
    }
    return host.close().exit;
  };
  EXPECT_EQ(exit_of_run({}), ExitCode::done);
  EXPECT_EQ(exit_of_run({ExitCode::done, ExitCode::done}), ExitCode::done);
  EXPECT_EQ(exit_of_run({ExitCode::incomplete, ExitCode::done}), ExitCode::incomplete);
  EXPECT_EQ(exit_of_run({ExitCode::stopped, ExitCode::incomplete}), ExitCode::stopped);
}

TEST_F(SessionTest, ThePageGetsTheFirstWarningsOfAllLeaders) {
  const int rank = world_.rank();
  const int last = world_.size() - 1;
  SessionHost host(run_.context());
  Session session(host, request_of("s" + std::to_string(rank), config_of(good_, 1), {rank}));
  session.run([&](RunContext& run) {
    for (int i = 0; i < (rank == last ? 30 : 1); ++i)
      run.log.event({"warn", {{"text", "warning " + std::to_string(i)}}});
    return JobOutcome{};
  });
  const SessionsEnd end = host.close();
  EXPECT_EQ(end.exit, ExitCode::done);
  if (rank != 0) {
    EXPECT_TRUE(end.notes.empty());
    return;
  }
  std::vector<std::string> sentences;
  for (const report::Note& note : end.notes)
    sentences.push_back(note.sentence());
  EXPECT_GE(sentences.size(), 21U);
  EXPECT_LE(sentences.size(), 24U);  // with first warnings that come after the 20th note
  EXPECT_THAT(sentences, testing::Contains("warning 0. Session s0 has warned of this."));
  EXPECT_THAT(sentences, testing::Contains("warning 0. Session s" + std::to_string(last) +
                                           " has warned of this."));
  EXPECT_THAT(sentences.back(), testing::HasSubstr(" more warnings and errors of sessions. They"));
}

}  // namespace
}  // namespace mgpu::run
