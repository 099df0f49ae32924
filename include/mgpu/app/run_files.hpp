#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <mgpu/app/cli.hpp>
#include <mgpu/base/crash_file.hpp>
#include <mgpu/base/sinks.hpp>
#include <mgpu/cluster/device_choice.hpp>
#include <mgpu/cluster/topology.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/report/event_log.hpp>
#include <mgpu/report/rank_log.hpp>
#include <mgpu/report/tensorboard.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>

namespace mgpu::app {

/// Shows the events and texts of a run on the screen, and writes them to the logs of the run. Rank
/// 0 does this: it writes to the screen, run.log, events.jsonl and, if log.tensorboard is
/// true, TensorBoard. Every rank prepares a CrashFile. If log.rank_files is true, every rank also
/// writes its events to a log file in logs/.
class RunFiles final : public EventSink, public ScalarSink {
public:
  /// `elapsed_s`: for how many seconds this process has been running.
  ///
  /// Ranks:  collective over the topology's world.
  /// Errors: E601 (a file cannot be created), E602 (write failed) or E603 (the folder logs/ cannot
  ///         be created), each on all ranks.
  RunFiles(const Options& options, const Config& config, const std::string& run_name,
           const cluster::Topology& topology, const cluster::DeviceChoice& choice,
           const store::RunDirectory& directory, double elapsed_s);

  /// Adds an event to this rank's log file (if log.rank_files is true) and to its CrashFile. An
  /// event with a report::Position (a progress report) is not added. Instead, it sets the phase
  /// that the CrashFile names, and Activity::position. Rank 0 also passes every event to its
  /// EventLog, for the screen, run.log and events.jsonl.
  void event(const Event& event) override;
  void scalar(std::string_view tag, std::int64_t step, double value) override;
  void resumed_at(std::int64_t step) override;

  /// The function print() writes a text to run.log and, without option -q, to the screen. With
  /// option -q, print_if_quiet() writes a text to the screen. With or without -q, print_last_line()
  /// writes the last line of the run to run.log and to the screen. On ranks other than 0, these
  /// functions do nothing.
  void print(std::string_view text);
  void print_if_quiet(std::string_view text);
  void print_last_line(std::string_view line);

  CrashFile& crash() { return *crash_; }
  /// Records in TensorBoard's HParams table whether the run succeeded.
  void end_session(bool success);

  report::TensorBoardFile* tensorboard() { return tensorboard_.get(); }

  /// Prints on rank 0 the warnings that other ranks have logged since the last call. If several
  /// ranks logged the same text, it is printed once. A text that rank 0 also logged is not printed
  /// again, because event() has already printed it.
  ///
  /// Ranks:  collective over the topology's world.
  /// Errors: E602 on all ranks if an earlier write to a log failed.
  void sync_warnings();

private:
  const cluster::Group* world_;
  std::unique_ptr<report::EventLog> log_;                 // nullptr on ranks other than 0
  std::unique_ptr<report::TensorBoardFile> tensorboard_;  // nullptr on ranks other than 0, or if
                                                          // log.tensorboard is false
  std::unique_ptr<report::RankLog> rank_log_;             // nullptr if log.rank_files is false
  std::vector<std::string> warnings_;                     // warnings since the last sync_warnings()
  std::unique_ptr<CrashFile> crash_;
};

}  // namespace mgpu::app
