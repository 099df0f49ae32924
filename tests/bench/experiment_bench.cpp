// Measures how many empty stages an experiment does per second. A stage opens and finishes its run
// directory on its ranks, and job_states.json is written, but no job runs. README.md has results.
//   mpirun -np 4 build/tests/bench/experiment_bench
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <mgpu/base/sinks.hpp>
#include <mgpu/cluster/request_server.hpp>
#include <mgpu/run/session.hpp>

#include "app/run_for_test.hpp"
#include "jobs/experiment/coordinator.hpp"
#include "jobs/experiment/node_memory.hpp"
#include "support/made_config.hpp"
#include "support/shared_folder.hpp"

namespace mgpu::jobs {
namespace {

constexpr std::size_t kStages = 400;

class NoSink final : public EventSink, public ScalarSink {
public:
  void event(const Event&) override {}
  void scalar(std::string_view, std::int64_t, double) override {}
};

/// The stages of 100 chains, each for one rank.
StageGraph chains(const Config& config) {
  constexpr std::size_t kChains = 100;
  StageGraph graph;
  for (std::size_t s = 0; s < kStages; ++s) {
    Stage stage{.name = "s" + std::to_string(s), .config = config, .file = {}, .output = {}};
    if (s >= kChains) stage.after = {s - kChains};
    stage.sizes = {1};
    graph.stages.push_back(std::move(stage));
  }
  return graph;
}

/// Does what run_stage() does, without a job.
StageEnd run_empty(run::SessionHost& host, const Stage& stage, const StageOrder& order,
                   const StagePlace& place) {
  store::RunRequest directory;
  directory.output = place.folder;
  directory.name = stage.name;
  directory.job = "train";
  directory.identity = order.identity;
  run::Session session(host, {stage.name, order.members, stage.config, directory});
  const run::SessionOutcome outcome =
      session.run([](run::RunContext&) { return run::JobOutcome{}; });
  return {
      .stage = order.stage, .exit = outcome.job.exit, .directory = session.directory().string()};
}

TEST(ExperimentBench, EmptyStages) {
  const cluster::Group world = cluster::Group::world();
  const testing_support::SharedFolder folder(world);
  const Config config = testing_support::config_of(
      {{"job", "train"}, {"run.output", folder.path() / "outputs"}, {"devices.backend", "mpi"}});
  NoSink sink;
  app::test::RunForTest<NoSink> run(world, config, app::test::request_of(config), sink);
  const StageGraph graph = chains(config);
  const StagePlace place{folder.path() / "stages"};
  run::SessionHost host(run.context());
  const auto begin = std::chrono::steady_clock::now();
  NodeMemory memory = memory_of_nodes(run.context(), graph.stages, place);
  std::optional<Coordinator> coordinator;
  if (world.rank() == 0)
    coordinator.emplace(graph, world.size(), ExperimentConfig{}, place, std::move(memory),
                        folder.path() / "job_states.json");
  {
    cluster::RequestServer server(world, [&](int rank, const std::string& request) {
      return coordinator->take(rank, request);
    });
    std::string request;
    for (;;) {
      const StageOrder order = order_of(server.ask(request, [] {}));
      if (order.is_end) break;
      const StageEnd end = run_empty(host, graph.stages.at(order.stage), order, place);
      request = world.rank() == order.members.front() ? to_text(end) : "";
    }
    world.barrier();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  host.close();
  if (world.rank() != 0) return;
  for (const StageRecord& record : coordinator->records())
    ASSERT_EQ(record.state, StageState::done);
  std::printf("measured: %zu empty stages on %d ranks in %.2f s, %.0f stages/s\n", kStages,
              world.size(), seconds.count(), static_cast<double>(kStages) / seconds.count());
}

}  // namespace
}  // namespace mgpu::jobs
