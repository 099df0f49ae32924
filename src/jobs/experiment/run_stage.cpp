#include "run_stage.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/cluster/try_together.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/run/export_format.hpp>
#include <mgpu/run/run_identity.hpp>
#include <mgpu/store/run_dir/repro.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::jobs {
namespace {

namespace fs = std::filesystem;

/// Returns the configuration of the stage, with the paths of its inputs and the chunk size from
/// `order`.
Config config_of(const Stage& stage, const StageOrder& order) {
  std::map<std::size_t, std::string> directories;
  for (std::size_t s = 0; s < order.directories.size(); ++s)
    if (!order.directories[s].empty()) directories[s] = order.directories[s];
  return with_inputs(stage, directories).with("run.chunk_size", order.chunk_size);
}

run::SessionRequest request_of(const Stage& stage, const StageOrder& order,
                               const StagePlace& place) {
  const Config config = config_of(stage, order);
  const auto of_device = run::device_keys(config, place.device);
  store::RunRequest directory;
  directory.output = place.folder;
  directory.name = stage.name;
  directory.job = read_job_name(config);
  directory.identity = order.identity;
  directory.keys = store::identity_keys(config);
  directory.keys.insert(of_device.begin(), of_device.end());
  for (const auto& [name, value] : of_device)
    if (value == "auto") directory.resolved_later.push_back(name);
  directory.command = {"./mgpu_spmd", stage.file.string()};
  return {stage.name, order.members, config, directory};
}

/// Writes the folder repro/, from which commands such as --export read the configuration of the
/// stage.
void write_stage_repro(const run::RunContext& run, const Stage& stage) {
  store::RankFacts mine;
  mine.host = run.topology.place().host;
  store::write_repro(run.topology.world(), run.directory.path(),
                     {run.config.resolved_yaml(),
                      {"./mgpu_spmd", stage.file.string()},
                      {},
                      {{"run", read_seed(run.config)}}},
                     mine);
}

/// Writes the exports that other stages read.
void write_exports(const run::RunContext& run, const Stage& stage) {
  const fs::path results = run.directory.path() / run.store.result_file;
  cluster::run_together(run.topology.world(), [&] {
    if (run.topology.world().rank() != 0) return;
    for (const run::ExportFormat& format : export_formats(job_of(run.config)))
      if (std::ranges::find(stage.exports, format.name) != stage.exports.end())
        run::write_export(format, run.config, results);
  });
}

StageEnd end_with(const StageOrder& order, const fs::path& directory,
                  const run::JobOutcome& outcome) {
  return {.stage = order.stage,
          .exit = outcome.exit,
          .directory = directory.string(),
          .result = outcome.result,
          .results = outcome.results,
          .done = outcome.done,
          .total = outcome.total,
          .unit = outcome.unit};
}

/// Writes outcome.json, from which a later run that reuses the stage reads its StageEnd.
void write_outcome(const run::RunContext& run, const StageEnd& end) {
  cluster::on_rank_0(run.topology.world(), [&] {
    write_file_durably(run.directory.path() / kOutcomeFile, to_text(end) + "\n", "outcome");
  });
}

run::JobOutcome run_whole(run::RunContext& run, const Stage& stage, const StageOrder& order) {
  write_stage_repro(run, stage);
  run::JobOutcome outcome = run_job(run);
  if (outcome.exit == ExitCode::stopped) return outcome;
  if (outcome.exit == ExitCode::done) write_exports(run, stage);
  write_outcome(run, end_with(order, run.directory.path(), outcome));
  run.directory.point_latest();
  return outcome;
}

/// If the free memory of this node is too small for the stage, frees weights of models that no rank
/// uses now. Only the first rank of the stage on each node frees weights.
void make_room(run::SessionHost& host, const StageOrder& order) {
  const cluster::Topology& topology = host.run().topology;
  const auto node_of = [&](int rank) {
    return topology.places()[static_cast<std::size_t>(rank)].node_index;
  };
  const auto on_node = [&](int rank) { return node_of(rank) == topology.place().node_index; };
  const auto first = std::ranges::find_if(order.members, on_node);
  if (*first != topology.world().rank()) return;
  const auto count = static_cast<std::uint64_t>(std::ranges::count_if(order.members, on_node));
  lm::ResidentModels& models = host.models();
  models.drop_unused(lm::ResidentModels::shortage(count * order.rank_bytes));
}

}  // namespace

StageEnd run_stage(run::SessionHost& host, const std::vector<Stage>& stages,
                   const StageOrder& order, const StagePlace& place) {
  const Stage& stage = stages.at(order.stage);
  make_room(host, order);
  run::Session session(host, request_of(stage, order, place));
  const run::SessionOutcome outcome =
      session.run([&](run::RunContext& run) { return run_whole(run, stage, order); });
  StageEnd end = end_with(order, session.directory(), outcome.job);
  if (outcome.failure) end.error = run::failure_text(*outcome.failure);
  return end;
}

}  // namespace mgpu::jobs
