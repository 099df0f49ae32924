// A very short run of job train, which can be stopped at a step, for the tests of --merge.
#pragma once

#include <csignal>
#include <filesystem>
#include <string>
#include <variant>

#include <mgpu/app/load_config.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/cluster/shared_files.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/store/run_dir/repro.hpp>

#include "run_for_test.hpp"
#include "support/shared_folder.hpp"

namespace mgpu::app::test {

namespace fs = std::filesystem;

constexpr const char* kTinyConfig =
    "schema: 1\n"
    "job: train\n"
    "run: {name: tiny, deterministic: layout, chunk_size: 8}\n"
    "model: {tf_n_embd: 16, tf_n_layer: 1, tf_n_head: 2, tf_n_inner: 16, n_transit: 40}\n"
    "data: {streams: 1, episodes: 2}\n"
    "train: {max_steps: 4, global_batch_size: 8, lanes: 4, warmup_steps: 0, eval_every: 2}\n"
    "evaluate: {runs: 1, episodes: 2}\n"
    "checkpoint: {every: 2}\n"
    "devices: {backend: mpi}\n";

using testing_support::SharedFolder;

/// Asks for a soft stop when the given step is done; -1: never.
class StopAtStep final : public EventSink, public ScalarSink {
public:
  explicit StopAtStep(std::int64_t step) : step_(step) {}
  void event(const Event& event) override {
    if (event.word != "train") return;
    if (std::get<std::int64_t>(event.fields.front().second) == step_) std::raise(SIGUSR1);
  }
  void scalar(std::string_view, std::int64_t, double) override {}

private:
  std::int64_t step_;
};

/// Runs or resumes the tiny job below `output`, and returns its run directory. The job is asked to
/// stop when `stop_at` steps are done, and stops one step later; 0: before its first history; -1:
/// not at all. Ranks: collective over `world`.
inline fs::path run_tiny(const cluster::Group& world, const SharedFolder& output,
                         const std::string& resume, std::int64_t stop_at) {
  Options options;
  options.config = output.write("tiny.yaml", kTinyConfig);
  options.overrides = {{"run.output", (output.path() / "outputs").string()},
                       {"run.resume", resume}};
  const Config config = load_config(options, program_keys(), cluster::shared_files(world));
  StopAtStep sink(stop_at);
  RunForTest run(world, config, request_of(config), sink);
  if (stop_at == 0) std::raise(SIGUSR1);
  store::write_repro(world, run.directory().path(), {config.resolved_yaml(), {}, {}, {}}, {});
  const run::JobOutcome outcome = jobs::run_job(run.context());
  run.directory().finish(world, outcome.exit);
  return run.directory().path();
}

}  // namespace mgpu::app::test
