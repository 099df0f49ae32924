#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/base/error.hpp>
#include <mgpu/base/estimate.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/report/notes.hpp>
#include <mgpu/report/phases.hpp>

namespace mgpu::report {

enum class Outcome { done, incomplete, stopped };

/// A final number, which the Result line, summary.json and report.html show.
struct Result {
  std::string key;    // "eval_return_last_episode"
  std::string label;  // "return in the last episode"
  double value = 0.0;
  std::string unit{};                  // "" for none
  int decimals = 1;                    // decimals of `value` in printed text
  std::optional<Estimate> estimate{};  // if `value` is a mean: its standard error, 95 % interval

  /// Formats the value for a person: "14.5", "1,234". Large values have fewer decimals.
  std::string number() const;
  std::string text() const;  // number() and the unit: "14.5 steps"

  /// Formats the 95 % interval: "[14.1, 14.9]"; "" without an interval.
  std::string interval() const;
};

/// All facts at the end of a run. The end table, summary.json and report.html take the numbers that
/// they share from this struct, so that no number differs between them.
struct RunSummary {
  static constexpr int kSchema = 1;

  struct GpuMemory {
    int rank = 0;
    std::string host;
    std::uint64_t allocated = 0;  // bytes; peak of the run
    std::uint64_t reserved = 0;   // bytes; peak of the run, with memory cached for later tensors
    std::uint64_t total = 0;      // bytes; capacity of the GPU
  };

  // Identity.
  std::string name;
  std::string job;
  std::string version;
  std::string started;  // UTC
  std::string ended;
  std::string host;
  DeviceKind device = DeviceKind::cpu;
  int ranks = 1;  // 0: the page compares runs, and is not about one run
  int nodes = 1;

  // Outcome.
  Outcome outcome = Outcome::done;
  ExitCode exit = ExitCode::done;
  std::string resume_command;  // command that resumes a stopped run
  std::int64_t done = 0;
  std::int64_t total = 0;
  std::int64_t skipped = 0;  // how many of the `done` steps made no update; the gradient of such a
                             // step was not finite, even after it was computed again
  std::string unit = "steps";  // what `done` and `total` count

  // Time and memory.
  double wall_s = 0.0;
  std::vector<PhaseRow> phases;
  /// The texts that follow the times of phases in the end table, by phase. An example is
  /// "50 saved" for phase checkpoints.
  std::map<std::string, std::string> phase_notes;
  double steps_per_second = 0.0;  // 0: not printed
  double samples_per_second = 0.0;
  std::vector<GpuMemory> gpus;
  std::vector<std::uint64_t> host_peak_bytes;  // peak host memory of each rank

  // Results.
  std::string result;  // the result as one line of text
  std::vector<Result> results;
  std::map<std::string, std::vector<double>> series;  // short curves: "return_per_episode/late"
  std::vector<Note> notes;

  // Files and the next command.
  std::string report_file;
  std::string results_file;
  std::string tensorboard_folder;
  std::string again_command;
};

const char* word_of(Outcome outcome);

/// Returns the outcome of a run with this exit code. Errors: Error if the exit code means a
/// failure.
Outcome outcome_of(ExitCode exit);

/// Returns the headline of report.html if the job does not provide a headline: "train_ad stopped
/// after 50 of 3000 steps."
std::string plain_headline(const RunSummary& summary);

/// Formats the summary as indented JSON: schema, status, exit_code, and the fields of RunSummary
/// except phase_notes, the names of files and again_command. NaN and infinities become null.
std::string summary_json(const RunSummary& summary);

/// Writes summary_json() to `path`.
/// Errors: Failure E601 (cannot be created, exit 73), E602 (write failed, exit 74).
void write_summary(const fs::path& path, const RunSummary& summary);

}  // namespace mgpu::report
