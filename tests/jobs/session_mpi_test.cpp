// Sessions of job generate side by side on parts of the ranks.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include <mgpu/app/load_config.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/run/session.hpp>

#include "app/run_for_test.hpp"
#include "app/tiny_run.hpp"
#include "jobs/generate/job.hpp"

namespace mgpu::run {
namespace {

using app::test::SharedFolder;

/// Keeps what a run shows.
class Shown final : public EventSink, public ScalarSink {
public:
  void event(const Event& event) override { events.push_back(event); }
  void scalar(std::string_view, std::int64_t, double) override {}

  std::int64_t of_session(const std::string& name) const {
    return std::count_if(events.begin(), events.end(), [&](const Event& event) {
      return event.fields.back() == std::pair<std::string, Event::Value>("session", name);
    });
  }

  std::vector<Event> events;
};

/// A run of all ranks, in which sessions work.
class SessionTest : public testing::Test {
protected:
  Config config_of(const std::string& rows, std::int64_t seed) const {
    app::Options options;
    options.overrides = {{"job", "generate"},
                         {"model.path", std::string(MGPU_GOLDENS) + "/llama"},
                         {"data.path", rows},
                         {"run.seed", std::to_string(seed)},
                         {"run.chunk_size", "2"},
                         {"run.output", (folder_.path() / "outputs").string()},
                         {"generate.max_new_tokens", "6"},
                         {"generate.num_samples", "2"},
                         {"generate.do_sample", "true"},
                         {"devices.backend", "mpi"}};
    return app::load_config(options, app::program_keys(), app::FileProvider::alone());
  }

  std::string rows(const std::string& name, const std::string& last) const {
    std::string text;
    for (int i = 0; i < 9; ++i)
      text += "{\"token_ids\": [1, " + std::to_string(5 + i) + ", 3]}\n";
    return folder_.write(name, text + last);
  }

  /// A session of job generate, on these ranks. Ranks: collective over them.
  SessionRequest request_of(const std::string& name, Config config,
                            std::vector<int> members) const {
    const int tag = members.front() + 1;
    store::RunRequest directory = app::test::request_of(config);
    directory.name = name;
    directory.resume = "never";
    return {name, std::move(members), tag, std::move(config), std::move(directory)};
  }

  static std::string results_of(const Session& session) {
    return read_file(session.directory() / "results.h5");
  }

  const cluster::Group world_ = cluster::Group::world();
  const SharedFolder folder_{world_};
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
  SessionLog log(run_.context());
  std::string alone;
  for (const bool low : {true, false}) {
    Session session(run_.context(), log,
                    request_of("alone", config_of(low ? good_ : other_, low ? 1 : 2),
                               ranks_from(0, world_.size())));
    EXPECT_FALSE(session.run(jobs::run_generate_job).failure);
    if (low == is_low) alone = results_of(session);
    world_.barrier();
  }

  Session session(
      run_.context(), log,
      request_of(is_low ? "low" : "high", config_of(is_low ? good_ : other_, is_low ? 1 : 2),
                 is_low ? ranks_from(0, half) : ranks_from(half, world_.size())));
  const SessionOutcome outcome = session.run(jobs::run_generate_job);
  log.close();

  EXPECT_FALSE(outcome.failure);
  EXPECT_EQ(outcome.job.exit, ExitCode::done);
  EXPECT_EQ(results_of(session), alone);
  if (world_.rank() == 0) {
    EXPECT_GT(shown_.of_session("low"), 0);
    EXPECT_GT(shown_.of_session("high"), 0);
  }
}

TEST_F(SessionTest, OneFailsAndTheOtherIsWhole) {
  const int half = world_.size() / 2;
  const bool is_low = world_.rank() < half;
  SessionLog log(run_.context());
  Session session(run_.context(), log,
                  request_of(is_low ? "whole" : "fails", config_of(is_low ? good_ : bad_, 1),
                             is_low ? ranks_from(0, half) : ranks_from(half, world_.size())));
  const SessionOutcome outcome = session.run(jobs::run_generate_job);
  log.close();

  EXPECT_EQ(outcome.failure.has_value(), !is_low);
  EXPECT_EQ(std::filesystem::exists(session.directory() / "results.h5"), is_low);
  EXPECT_EQ(outcome.job.exit, is_low ? ExitCode::done : ExitCode::data);
  EXPECT_EQ(outcome.failure ? outcome.failure->code : "", is_low ? "" : "E531");
  EXPECT_EQ(shown_.of_session("fails") > 0, world_.rank() == 0);
  world_.barrier();  // the world goes on
}

}  // namespace
}  // namespace mgpu::run
