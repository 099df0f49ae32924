#include "job.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <mgpu/base/activity.hpp>
#include <mgpu/cluster/request_server.hpp>
#include <mgpu/cluster/shared_files.hpp>
#include <mgpu/report/banner.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/session.hpp>

#include "cell_answers.hpp"
#include "earlier_runs.hpp"
#include "node_memory.hpp"
#include "results.hpp"
#include "run_stage.hpp"

namespace mgpu::jobs {
namespace {

std::vector<Stage> read_alone(const ExperimentConfig& keys, const Config& config) {
  return read_graph(keys, config, FileProvider::alone()).stages;
}

/// Reads the stages on every rank, and sets Stage::sizes.
/// Ranks:  collective over `world`.
StageGraph read_together(const cluster::Group& world, const ExperimentConfig& keys,
                         const Config& config) {
  const FileProvider files = cluster::shared_files(world);
  StageGraph graph = read_graph(keys, config, files);
  cluster::run_together(world, [&] { choose_sizes(graph.stages, world.size()); });
  return graph;
}

/// The objects with which a rank works on an experiment.
struct Work {
  run::RunContext& run;
  const std::vector<Stage>& stages;
  StagePlace place;
  std::optional<Coordinator> coordinator;  // nullopt on ranks other than 0

  std::vector<cluster::RequestServer::Answer> answer(int rank, const std::string& request) {
    return coordinator->take(rank, request);
  }

  void show_states() {
    if (!coordinator) return;
    for (const Event& event : coordinator->take_events())
      run.log.event(event);
  }

  void show(run::SessionHost& host) {
    show_states();
    host.show();
  }
};

/// Runs stages on this rank until the coordinator says that there is no more work.
void work_on(Work& work, run::SessionHost& host, cluster::RequestServer& server) {
  const int rank = work.run.topology.world().rank();
  std::string request;
  for (;;) {
    StageOrder order;
    {
      const auto waiting = work.run.clock.enter("waiting for stages");
      activity().position.set("no stage");
      order = order_of(server.ask(request, [&] {
        mark_progress();  // otherwise the watchdog would report a rank without work as hung
        work.show(host);
      }));
    }
    work.show(host);
    if (order.is_end) return;
    const StageEnd end = run_stage(host, work.stages, order, work.place);
    request = rank == order.members.front() ? to_text(end) : "";
  }
}

void print_banner(run::RunContext& run, const std::vector<Stage>& stages) {
  report::BannerFacts facts;
  facts.device = run.device.kind;
  facts.data = std::to_string(stages.size()) + " stages:";
  for (const Stage& stage : stages)
    facts.data += " " + stage.name;
  run.print_banner(facts);
}

}  // namespace

JobSpec experiment_job() {
  return {.name = "experiment",
          .text = "a graph of other jobs, which run on groups of ranks at the same time",
          .keys = {add_experiment_keys},
          .check = [](const Config& config, int /*ranks*/) { check_experiment_keys(config); },
          .read = [](const Config& config) -> std::unique_ptr<Job> {
            return std::make_unique<ExperimentJob>(config);
          }};
}

void ExperimentJob::check_files() const {
  for (const Stage& stage : read_alone(keys_, config_))
    if (stage.inputs.empty()) read_job(with_chunk_size(stage.config))->check_files();
}

std::vector<run::FileCheck> ExperimentJob::file_checks() const {
  std::vector<run::FileCheck> checks;
  checks.push_back({"stages of " + keys_.folder.string(), [this](const cluster::Group& world) {
                      const std::vector<Stage> stages = read_together(world, keys_, config_).stages;
                      std::string text;
                      for (const Stage& stage : stages)
                        text += (text.empty() ? "" : "; ") + stage.name + ": " +
                                description(stages, stage);
                      return text;
                    }});
  return checks;
}

std::uint64_t ExperimentJob::disk_bytes() const {
  std::uint64_t bytes = 0;
  for (const Stage& stage : read_alone(keys_, config_))
    if (stage.inputs.empty()) bytes += read_job(with_chunk_size(stage.config))->disk_bytes();
  return bytes;
}

run::JobOutcome ExperimentJob::run(run::RunContext& run) const {
  const cluster::Group& world = run.topology.world();
  const StageGraph graph = read_together(world, keys_, config_);
  const std::vector<Stage>& stages = graph.stages;
  print_banner(run, stages);
  Work work{run, stages, {stages_folder(run.store), run.device.kind}, std::nullopt};
  NodeMemory memory = memory_of_nodes(run, stages, work.place);
  if (world.rank() == 0)
    work.coordinator.emplace(graph, world.size(), keys_, work.place, std::move(memory),
                             run.directory.path() / "job_states.json");
  run::SessionHost host(run);
  host.before_events([&] { work.show_states(); });
  {
    cluster::RequestServer server(
        world, [&](int rank, const std::string& request) { return work.answer(rank, request); });
    work_on(work, host, server);
    world.barrier();  // keep the server until all ranks have been told to end
  }
  run::SessionsEnd end = host.close();
  const std::vector<StageRecord> records =
      work.coordinator ? work.coordinator->records() : std::vector<StageRecord>{};
  std::vector<CellResult> cells = cell_results(keys_.matrix, graph, records);
  cluster::run_together(world, [&] { read_answers(graph, records, cells); });
  run::JobOutcome outcome = outcome_of(run, stages, records, cells);
  if (outcome.done < outcome.total && end.exit == ExitCode::done) end.exit = ExitCode::incomplete;
  // A stage that failed and then succeeded in a retry does not make the run incomplete.
  if (outcome.done == outcome.total && end.exit == ExitCode::incomplete) end.exit = ExitCode::done;
  if (end.exit != ExitCode::stopped) seal_stages(run, stages, records, cells);
  outcome.exit = end.exit;
  outcome.notes = std::move(end.notes);
  return outcome;
}

run::MergedRun ExperimentJob::merge(const cluster::Group&, const run::SealPlace&,
                                    const store::ChunkJournal&) const {
  throw Failure({"E126",
                 ExitCode::config,
                 "the journals of an experiment are in the run directories of its stages",
                 {},
                 "--merge the run directory of a stage, or resume the experiment"});
}

}  // namespace mgpu::jobs
