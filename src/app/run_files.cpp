#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include <mgpu/app/environment_report.hpp>
#include <mgpu/app/run_files.hpp>
#include <mgpu/base/activity.hpp>
#include <mgpu/report/event_line.hpp>
#include <mgpu/report/terminal.hpp>

namespace mgpu::app {
namespace {

report::Verbosity verbosity_of(const Options& options, const Config& config) {
  if (options.quiet) return report::Verbosity::quiet;
  const bool is_verbose = options.verbose || config.text("log.level") == "debug";
  return is_verbose ? report::Verbosity::verbose : report::Verbosity::normal;
}

/// Returns the device and its UUID, "cuda:0 GPU-e7b3bccd-...", or "cpu".
std::string device_text(const cluster::DeviceChoice& choice) {
  if (choice.device.kind == DeviceKind::cpu) return "cpu";
  return "cuda:" + std::to_string(choice.device.index) + " " + choice.gpu.uuid;
}

report::RankIdentity identity_of(const cluster::Topology& topology,
                                 const cluster::DeviceChoice& choice) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  report::RankIdentity who;
  who.rank = topology.world().rank();
  who.ranks = topology.world().size();
  who.worker = topology.group_index();
  who.workers = topology.num_groups();
  who.host = topology.place().host;
  who.visible_devices = visible == nullptr ? "" : visible;
  who.device = device_text(choice);
  return who;
}

/// Returns the keys that can change the results (KeySpec::identity), with their values. The text of
/// a number becomes a double, the text of a flag becomes a bool, and other texts stay strings.
std::map<std::string, report::TensorBoardFile::Hparam> hparams_of(const Config& config) {
  std::map<std::string, report::TensorBoardFile::Hparam> hparams;
  for (const KeySpec* spec : config.keys()) {
    const KeySpec& key = *spec;
    if (!key.identity) continue;
    const std::string text = config.shown(key.name);
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0') {
      hparams.emplace(key.name, number);
    } else if (key.type == KeyType::flag) {
      hparams.emplace(key.name, text == "true");
    } else {
      hparams.emplace(key.name, text);
    }
  }
  return hparams;
}

}  // namespace

RunFiles::RunFiles(const Options& options, const Config& config, const std::string& run_name,
                   const cluster::Topology& topology, const cluster::DeviceChoice& choice,
                   const store::RunDirectory& directory, double elapsed_s)
    : world_(&topology.world()) {
  const fs::path& folder = directory.path();
  cluster::run_together(*world_, [&] {
    crash_ = std::make_unique<CrashFile>(CrashFile::Options{
        folder / "crash", world_->rank(), world_->size(), version_text(/*verbose=*/true)});
    if (config.flag("log.rank_files")) {
      fs::create_directories(folder / "logs");
      rank_log_ = std::make_unique<report::RankLog>(folder / "logs", identity_of(topology, choice),
                                                    verbosity_of(options, config));
    }
    if (world_->rank() != 0) return;
    report::EventLog::Options log;
    log.events_file = folder / "events.jsonl";
    log.run_log = folder / "run.log";
    log.verbosity = verbosity_of(options, config);
    log.json = options.json;
    log.progress = report::progress_mode_of(options.progress);
    log_ = std::make_unique<report::EventLog>(
        log, report::probe_terminal(report::color_mode_of(options.color)), report::Output::real(),
        report::ReportClock::real(elapsed_s));
    if (config.flag("log.tensorboard")) {
      tensorboard_ =
          std::make_unique<report::TensorBoardFile>(folder / "tb", topology.place().host);
      tensorboard_->layout("mgpu_spmd", report::standard_charts());
      tensorboard_->begin_session(run_name, hparams_of(config));
    }
  });
}

void RunFiles::event(const Event& event) {
  const bool is_progress = report::position_of(event).has_value();
  if (is_progress) {
    const std::string fields = report::event_fields(event);
    crash_->set_phase(event.word + ", " + fields.substr(0, 40));
    activity().position.set(event.word + ", " + fields.substr(0, fields.find("  ")));
  } else {
    crash_->add_event(event.word + " " + report::event_fields(event));
    if (rank_log_) rank_log_->event(event);
  }
  if (event.word == "warn") warnings_.push_back(report::event_fields(event));
  if (log_) log_->event(event);
}

void RunFiles::scalar(std::string_view tag, std::int64_t step, double value) {
  if (tensorboard_) tensorboard_->scalar(tag, step, value);
}

void RunFiles::resumed_at(std::int64_t step) {
  if (tensorboard_) tensorboard_->resumed_at(step);
}

void RunFiles::end_session(bool success) {
  if (tensorboard_) tensorboard_->end_session(success);
}

void RunFiles::print(std::string_view text) {
  if (log_) log_->print(text);
}

void RunFiles::print_if_quiet(std::string_view text) {
  if (log_) log_->print_if_quiet(text);
}

void RunFiles::print_last_line(std::string_view line) {
  if (log_) log_->print_last_line(line);
}

void RunFiles::sync_warnings() {
  const std::vector<std::string> mine = std::exchange(warnings_, {});
  for (const report::SharedWarning& warning : report::gather_warnings(*world_, mine)) {
    // Rank 0 has already logged each warning that occurred on it.
    if (warning.ranks.front() != 0 && log_) log_->event(warning.as_event());
  }
  cluster::run_together(*world_, [&] {
    if (rank_log_) rank_log_->check();
    if (tensorboard_) {
      tensorboard_->flush();
      tensorboard_->check();
    }
    if (log_) log_->check();
  });
}

}  // namespace mgpu::app
