#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include <mgpu/app/build_info.hpp>
#include <mgpu/app/load_config.hpp>
#include <mgpu/app/program_keys.hpp>
#include <mgpu/app/run_files.hpp>
#include <mgpu/app/run_world.hpp>
#include <mgpu/cluster/device_choice.hpp>
#include <mgpu/cluster/gpu_utilization.hpp>
#include <mgpu/cluster/shared_files.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/jobs/job.hpp>
#include <mgpu/report/banner.hpp>
#include <mgpu/report/end_table.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/chunk_keys.hpp>
#include <mgpu/run/rank_memory.hpp>
#include <mgpu/store/journal/quarantine.hpp>
#include <mgpu/store/run_dir/repro.hpp>

#include "absent_ranks.hpp"
#include "compute_threads.hpp"
#include "page_facts.hpp"
#include "run_keys.hpp"
#include "run_tables.hpp"
#include "watch_run.hpp"
#include "watched_events.hpp"

namespace mgpu::app {
namespace {

using UtcTime = std::chrono::system_clock::time_point;

/// Returns the paths of the configuration file and of its overlays, in this order.
std::vector<std::string> sources_of(const Options& options) {
  std::vector<std::string> sources = {options.config};
  sources.insert(sources.end(), options.overlays.begin(), options.overlays.end());
  return sources;
}

/// One attempt of a run, from its banner to its last line. Owns the objects that the job uses.
class Run {
public:
  Run(const cluster::Group& world, const Options& options, const std::vector<std::string>& command,
      double elapsed_s)
      : world_(world.duplicate()),
        command_(command),
        clock_(elapsed_s, "start-up"),
        config_(load(options)),
        job_(read_checked_job(world_, config_)),
        topology_(world_, keys_.cluster.group_sizes()),
        choice_(cluster::choose_device(topology_, keys_.cluster)),
        directory_(world_,
                   run_request(world_, config_, *job_, keys_, choice_.device.kind, command)),
        files_(options, config_, keys_.store.run_name, topology_, choice_, directory_,
               clock_.elapsed_s()),
        stop_(stop_options(config_, world_, directory_, clock_.elapsed_s())),
        sources_(sources_of(options)),
        overrides_(std::ssize(options.overrides)) {
    set_compute_threads(keys_.cluster.threads);
    watchdog_ = watch_run(keys_.watch, topology_, files_, directory_.path());
    if (watchdog_) keys_.cluster.timeout_s += kAfterWatchdogS;
    if (choice_.device.kind == DeviceKind::cuda)
      meter_ = std::make_unique<cluster::UtilizationMeter>(choice_.gpu.uuid);
  }

  ExitCode run() {
    try {
      return work();
    } catch (const cluster::TimeoutError& error) {
      files_.crash().write(render(error.report()));
      throw cluster::TimeoutError(name_absent_ranks(
          error.report(), topology_, {files_.crash(), started_, keys_.cluster.timeout_s}));
    } catch (const cluster::DivergedFailure& error) {
      files_.crash().write(render(error.report()));
      // If several ranks throw a DivergedFailure, the lowest rank prints first and aborts the
      // others.
      std::this_thread::sleep_for(std::chrono::milliseconds(20) * world_.rank());
      throw;
    } catch (const std::exception& error) {
      const ErrorReport report = report_of(error);
      files_.crash().write(render(report));
      if (!events_.has_begun() && explains_itself(report.exit)) directory_.discard();
      throw;
    }
  }

private:
  Config load(const Options& options) {
    const auto rules = [&](const Config& config) {
      keys_ = read_run_keys(config, [&](const auto&) { return world_.size(); });
    };
    return jobs::with_chunk_size(
        world_, load_config(options, program_keys(), cluster::shared_files(world_), rules));
  }

  ExitCode work() {
    open();
    const auto communicator =
        cluster::make_communicator(topology_.across_groups(), choice_.plan.backend, choice_.device,
                                   {.timeout_s = keys_.cluster.timeout_s});
    store::ChunkJournal journal(directory_.path(), world_, directory_.attempt(),
                                keys_.store.sync_s);
    warn_of_damage(journal);
    store::Quarantine quarantine(directory_.path(), world_, directory_.attempt());
    if (keys_.retries_quarantined) quarantine.forget(world_, journal, job_->run_keys().chunk_size);
    run::RunContext context{config_,
                            keys_.cluster,
                            keys_.store,
                            topology_,
                            *communicator,
                            choice_.device,
                            choice_.plan.backend,
                            directory_,
                            journal,
                            quarantine,
                            stop_,
                            clock_,
                            events_,
                            files_,
                            [&](const report::BannerFacts& facts) { print_banner(facts); },
                            [&](std::string_view lines) { files_.print(lines); },
                            [&] { files_.sync_warnings(); }};
    run::JobOutcome outcome;
    {
      const auto other = clock_.enter("other");
      outcome = job_->run(context);
    }
    if (world_.rank() == 0) quarantine.clear_marks();
    const auto closing = clock_.enter("results");
    return close(std::move(outcome), journal.work());
  }

  void open() {
    report::BannerHead head;
    head.version = build_info().version;
    head.git = build_info().git;
    head.job = read_job_name(config_);
    head.sources = sources_;
    head.overrides = overrides_;
    head.run_directory = directory_.path().string();
    head.machine = choice_.plan.note;
    head.device = choice_.device.kind;
    head.nodes = nodes();
    files_.print(report::head_lines(head));
    for (const std::string& note : directory_.notes())
      files_.event({"note", {{"text", note}}});
    if (directory_.is_resumed()) {
      files_.event(
          {"note",
           {{"text", "attempt " + std::to_string(directory_.attempt()) + " continues this run"}}});
    }
    store::write_repro(world_, directory_.path(),
                       {to_repeat().resolved_yaml(),
                        command_,
                        build_info().versions,
                        {{"run", job_->run_keys().seed}}},
                       rank_facts());
    if (files_.tensorboard() != nullptr) {
      files_.tensorboard()->text("config", config_.resolved_yaml());
    }
  }

  /// Returns the configuration that repeats the run. If run.resume names a run directory, the value
  /// becomes `auto`, because a finished run cannot be resumed. The value of run.retry_quarantined
  /// becomes false, because it concerns only this attempt.
  Config to_repeat() const {
    const bool is_folder = keys_.store.resume != "auto" && keys_.store.resume != "never";
    const Config once = config_.with("run.retry_quarantined", "false");
    return is_folder ? once.with("run.resume", "auto") : once;
  }

  store::RankFacts rank_facts() const {
    store::RankFacts facts;
    facts.host = topology_.place().host;
    facts.gpu_uuid = choice_.gpu.uuid;
    facts.cores = allowed_cores();
    return facts;
  }

  std::vector<report::BannerHead::Node> nodes() const {
    std::vector<report::BannerHead::Node> nodes(static_cast<std::size_t>(topology_.num_nodes()));
    for (std::size_t rank = 0; rank < topology_.places().size(); ++rank) {
      const cluster::RankPlace& place = topology_.places()[rank];
      report::BannerHead::Node& node = nodes[static_cast<std::size_t>(place.node_index)];
      node.host = place.host;
      node.ranks.push_back(static_cast<int>(rank));
      if (choice_.device.kind == DeviceKind::cuda) {
        node.devices.push_back(choice_.plan.devices[rank].index);
      }
    }
    return nodes;
  }

  void print_banner(report::BannerFacts facts) {
    for (const std::string& key : config_.not_default())
      facts.not_default.push_back({key, config_.shown(key), source_of(config_.place(key))});
    files_.print(report::fact_lines(facts));
    for (const std::string& note : jobs::notes_for_job(config_))
      files_.event({"note", {{"text", note}}});
    files_.sync_warnings();
  }

  void warn_of_damage(const store::ChunkJournal& journal) {
    for (const store::LedgerDamage& damage : journal.damage()) {
      files_.event({"warn",
                    {{"text", damage.file + ": " + std::to_string(damage.bytes) + " bytes at " +
                                  std::to_string(damage.offset) +
                                  " are damaged; their chunks are made again"}}});
    }
  }

  /// Logs why the run stops. Some ranks may not know the reason, so the function logs the maximum
  /// of StopReason over all ranks.
  /// Ranks:  collective over the world.
  void log_why_stopped() {
    const auto mine = static_cast<std::int32_t>(stop_.poll());
    const auto reason = static_cast<StopReason>(world_.all_reduce(mine, cluster::ReduceOp::max));
    files_.event({"note", {{"text", "stops for " + std::string(name_of(reason))}}});
  }

  ExitCode close(run::JobOutcome outcome, std::vector<store::ChunkWork> chunks) {
    events_.set_begun();  // a later failure must not remove the run directory
    if (outcome.exit == ExitCode::stopped)
      log_why_stopped();
    else
      StopSignals::ignore();  // the results are complete, so a late signal must not change the exit
    files_.end_session(outcome.exit == ExitCode::done);
    files_.sync_warnings();
    const report::PhaseTable phases = report::gather_phases(world_, clock_);
    const auto memory = run::gather_memory(world_, choice_.device);
    const auto utilization =
        cluster::gather_utilization(world_, meter_ ? meter_->read() : cluster::Utilization{});
    const std::vector<RankRecord> records = gather_rank_records(
        world_, {topology_.place().host, choice_.gpu.uuid, choice_.gpu.name, outcome.samples_here});
    report::RunSummary summary;
    cluster::run_together(world_, [&] {
      if (world_.rank() == 0) summary = write_reports(outcome, phases, memory);
    });
    if (outcome.exit != ExitCode::stopped) directory_.point_latest();
    write_run_tables(world_, directory_,
                     {run_attributes(summary), records, memory, phases, outcome.pace,
                      outcome.samples_per_step, static_cast<int>(outcome.exit), std::move(chunks)});
    directory_.finish(world_, outcome.exit);  // last, so a run killed before this call stays
                                              // unfinished
    cluster::run_together(world_, [&] {
      if (world_.rank() != 0) return;
      if (meter_) files_.print(cluster::utilization_lines(utilization));
      files_.print(report::end_table(summary));
      files_.print_if_quiet(report::quiet_lines(summary, directory_.path().string()));
      files_.print_last_line(report::last_line(summary));
    });
    StopSignals::ignore();
    return outcome.exit;
  }

  report::RunSummary write_reports(run::JobOutcome& outcome, const report::PhaseTable& phases,
                                   const std::vector<run::RankMemory>& memory) {
    report::RunSummary summary = summarize(outcome, phases);
    run::fill_memory(memory, topology_, choice_.device, summary);
    if (outcome.page) outcome.page->record(summary);
    const fs::path& folder = directory_.path();
    if (config_.flag("report.html")) {
      summary.report_file = (folder / "report.html").string();
      report::HtmlPage page;
      if (outcome.page) page = outcome.page->page(summary);
      if (page.headline.empty()) page.headline = report::plain_headline(summary);
      page.phases = phases;
      page.provenance = provenance(summary);
      NamedTexts facts = outcome.inputs;
      facts.emplace_back("machine", machine_text(topology_, choice_));
      page.tables.insert(page.tables.begin(), settings_table(config_, facts));
      report::write_html_page(summary.report_file, page, summary);
    }
    report::write_summary(folder / "summary.json", summary);
    return summary;
  }

  std::vector<store::Attribute> run_attributes(const report::RunSummary& summary) const {
    return {{"program", summary.version},  {"git", build_info().git},
            {"name", summary.name},        {"job", summary.job},
            {"created", summary.ended},    {"command", store::command_line(command_)},
            {"backend", choice_.plan.note}};
  }

  report::RunSummary summarize(const run::JobOutcome& outcome, const report::PhaseTable& phases) {
    report::RunSummary summary;
    summary.name = keys_.store.run_name;
    summary.job = read_job_name(config_);
    summary.version = build_info().version;
    summary.started = report::utc_seconds(started_);
    summary.ended = report::utc_seconds(std::chrono::system_clock::now());
    summary.host = topology_.place().host;
    summary.ranks = world_.size();
    summary.outcome = report::outcome_of(outcome.exit);
    summary.exit = outcome.exit;
    summary.done = outcome.done;
    summary.total = outcome.total;
    summary.unit = outcome.unit;
    summary.skipped = outcome.skipped;
    summary.wall_s = phases.wall_s;
    summary.phases = report::phase_rows(phases);
    summary.phase_notes = {outcome.phase_notes.begin(), outcome.phase_notes.end()};
    add_rates(outcome, summary);
    summary.result = outcome.result;
    summary.results = outcome.results;
    summary.notes = outcome.notes;
    if (outcome.advise)
      std::ranges::move(outcome.advise(report::facts_of(summary.phases)),
                        std::back_inserter(summary.notes));
    add_commands(summary);
    if (outcome.exit == ExitCode::done || outcome.exit == ExitCode::incomplete) {
      summary.results_file = (directory_.path() / keys_.store.result_file).string();
    }
    if (files_.tensorboard() != nullptr) summary.tensorboard_folder = curves_folder().string();
    return summary;
  }

  void add_commands(report::RunSummary& summary) const {
    const fs::path& folder = directory_.path();
    summary.again_command = "mpirun -np " + std::to_string(world_.size()) + " ./mgpu_spmd " +
                            store::shell_word((folder / "repro" / "config.resolved.yaml").string());
    if (summary.exit != ExitCode::stopped) return;
    summary.resume_command = summary.again_command + " " + store::path_argument("--resume", folder);
  }

  /// Returns the folder to give to tensorboard --logdir. If store::runs_folder(), which collects
  /// the curves of all runs, contains a link to this run, returns that folder. Otherwise returns
  /// the folder `tb` of this run. The path is relative if the folder is the working directory or
  /// below it.
  fs::path curves_folder() const {
    const fs::path all = store::runs_folder(keys_.store.output_folder);
    const fs::path link =
        all / (keys_.store.run_name + "_" + directory_.path().filename().string());
    const fs::path folder = fs::is_symlink(link) ? all : directory_.path() / "tb";
    const fs::path below = fs::absolute(folder).lexically_relative(fs::current_path());
    return below.empty() || *below.begin() == ".." ? fs::absolute(folder) : below;
  }

  static void add_rates(const run::JobOutcome& outcome, report::RunSummary& summary) {
    double training_s = 0.0;
    for (const report::PhaseRow& row : summary.phases)
      if (std::ranges::find(outcome.step_phases, row.phase) != outcome.step_phases.end())
        training_s += row.mean_s;
    if (outcome.steps_here == 0 || training_s <= 0.0) return;
    summary.steps_per_second = static_cast<double>(outcome.steps_here) / training_s;
    summary.samples_per_second =
        summary.steps_per_second * static_cast<double>(outcome.samples_per_step);
  }

  std::vector<std::pair<std::string, std::string>> provenance(
      const report::RunSummary& summary) const {
    return {{"command", store::command_line(command_)},
            {"started", summary.started},
            {"ended", summary.ended},
            {"host memory", memory_text(summary)},
            {"libraries", versions_text()},
            {"version", build_info().version + " (git " + build_info().git + ")"},
            {"run directory", directory_.path().string()},
            {"identity", store::identity_of_run(directory_.path())},
            {"backend", choice_.plan.note}};
  }

  cluster::Group world_;
  const std::vector<std::string>& command_;
  UtcTime started_ = std::chrono::system_clock::now();
  PhaseClock clock_;
  RunKeys keys_;  // set by load()
  Config config_;
  std::unique_ptr<jobs::Job> job_;
  cluster::Topology topology_;
  cluster::DeviceChoice choice_;
  store::RunDirectory directory_;
  RunFiles files_;
  WatchedEvents events_{files_, directory_};
  SoftStop stop_;
  std::vector<std::string> sources_;
  std::int64_t overrides_;
  std::unique_ptr<watch::Watchdog> watchdog_;         // nullptr: off, or a debugger is attached
  std::unique_ptr<cluster::UtilizationMeter> meter_;  // nullptr if this rank has no GPU
};

}  // namespace

ExitCode run_world(const cluster::Group& world, const Options& options,
                   const std::vector<std::string>& command, double elapsed_s) {
  Run run(world, options, command, elapsed_s);
  return run.run();
}

}  // namespace mgpu::app
