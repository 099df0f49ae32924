#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/base/phase_clock.hpp>
#include <mgpu/base/sinks.hpp>
#include <mgpu/base/soft_stop.hpp>
#include <mgpu/cluster/cluster_config.hpp>
#include <mgpu/cluster/communicator.hpp>
#include <mgpu/cluster/topology.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/lm/weights/resident_models.hpp>
#include <mgpu/report/banner.hpp>
#include <mgpu/report/job_page.hpp>
#include <mgpu/report/notes.hpp>
#include <mgpu/report/step_pace.hpp>
#include <mgpu/report/summary.hpp>
#include <mgpu/store/journal/chunk_journal.hpp>
#include <mgpu/store/journal/quarantine.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>
#include <mgpu/store/run_dir/store_config.hpp>

namespace mgpu::run {

/// Everything that a job works with. The program makes it and keeps it alive until the job returns.
struct RunContext {
  const Config& config;
  const cluster::ClusterConfig& cluster;
  const store::StoreConfig& store;
  const cluster::Topology& topology;
  cluster::Communicator& communicator;  // over the ranks of topology.across_groups()
  Device device;                        // device of this rank
  cluster::Backend backend;             // how tensors travel between ranks
  store::RunDirectory& directory;
  store::ChunkJournal& journal;
  store::Quarantine& quarantine;
  SoftStop& stop;
  PhaseClock& clock;
  EventSink& log;       // the log of this rank; on rank 0 also screen, run.log, events.jsonl
  ScalarSink& scalars;  // TensorBoard on rank 0, nothing elsewhere
  std::function<void(const report::BannerFacts&)> print_banner;  // banner block; rank 0 prints it
  std::function<void(std::string_view)> print;  // lines for a person; rank 0 prints them
  std::function<void()> sync_warnings;   // collective: shows the warnings of all ranks; throws if
                                         // a log file could not be written
  lm::ResidentModels* models = nullptr;  // model folders that sessions share; or nullptr
};

/// Logs that this rank has done a chunk of `samples` samples of `phase`. Only -v shows it.
void log_chunk(RunContext& run, const char* phase, std::int64_t samples);

/// How a job ended, and its results. The program makes the end table, summary.json and report.html
/// from it.
struct JobOutcome {
  ExitCode exit = ExitCode::done;
  std::string unit = "steps";            // unit of `done` and `total`
  std::int64_t done = 0;                 // steps or samples so far
  std::int64_t total = 0;                // steps or samples that the run has to do
  std::int64_t skipped = 0;              // how many of the `done` steps made no update
  std::int64_t steps_here = 0;           // steps of this attempt
  std::int64_t samples_per_step = 0;     // 0: the job has no steps
  std::vector<std::string> step_phases;  // phases of the clock that are part of steps
  std::int64_t samples_here = 0;         // samples that this rank processed in this attempt
  report::StepPace pace;                 // times of steps, on `RunContext::clock`
  std::string result;                    // one line that states the result
  std::vector<report::Result> results;   // numbers for summary.json and report.html
  std::vector<std::pair<std::string, std::string>> phase_notes;  // see report::RunSummary
  std::vector<report::Note> notes;
  /// Names and checksums of inputs, for report.html: "data", "CRC-32C 0a1b2c3d of the rows".
  std::vector<std::pair<std::string, std::string>> inputs;
  /// A function that returns more notes, given facts about the phases of the run's clock (see
  /// report::facts_of()). It may be empty. It is called while the job still exists.
  std::function<std::vector<report::Note>(const report::NoteFacts&)> advise;
  std::unique_ptr<const report::JobPage> page;  // the job's figures; nullptr: none
};

}  // namespace mgpu::run
