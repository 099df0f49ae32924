#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/mailbox.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/lm/weights/resident_models.hpp>
#include <mgpu/report/notes.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>

namespace mgpu::run {

/// How the sessions of a run ended. A session is a job that some ranks of a run do in a separate
/// directory.
struct SessionsEnd {
  /// The exit code of the run, the same on all ranks: `stopped` if a session stopped, otherwise
  /// `incomplete` if a session failed or is incomplete, otherwise `done`.
  ExitCode exit = ExitCode::done;

  /// On rank 0, the first warnings and failures of the sessions, then a note with the number of
  /// those that were left out. Empty on other ranks. The job that calls SessionHost::close() copies
  /// the notes into its JobOutcome::notes, which report.html shows.
  std::vector<report::Note> notes{};
};

/// Holds everything that the sessions of a run share. It makes and reuses groups of ranks, and
/// keeps loaded models in memory. It relays events and TensorBoard curves of the leaders (first
/// ranks) of all sessions to rank 0 of the run, and remembers how the sessions ended. Each event
/// has a field `session` with the session's name; each curve's tag starts with the name.
///
/// Ranks:  the constructor and close() are collective over the run's ranks; group_of() is
///         collective over the members; all other calls are local.
class SessionHost {
public:
  /// `run` must outlive the host.
  explicit SessionHost(RunContext& run);

  RunContext& run() { return run_; }
  lm::ResidentModels& models() { return models_; }

  /// Returns the group (communicator) of the ranks `members` of the run, which must ascend. The
  /// first call with these `members` makes the group, and later calls return the same group.
  /// Ranks:  collective over the members if the group is new, else local.
  const cluster::Group& group_of(const std::vector<int>& members);

  /// Sets the function `show_more`. On rank 0 of the run, event() calls it before it shows an
  /// event, so that `show_more` can show older events first.
  void before_events(std::function<void()> show_more) { before_events_ = std::move(show_more); }

  /// Shows an event on rank 0 of the run, after the events of other ranks that have arrived. On
  /// other ranks, sends the event to rank 0.
  void event(const Event& event);
  /// Shows a point of a TensorBoard curve on rank 0 of the run; on other ranks, sends it to rank 0.
  void scalar(const std::string& tag, std::int64_t step, double value);

  /// Shows events and points that other ranks have sent. Does nothing on ranks other than rank 0 of
  /// the run. Call it often, so that events appear soon after they happen.
  void show();

  /// Records the exit code of a session that has ended. Session::run() calls it on every rank of
  /// the session.
  void ended(ExitCode exit);

  /// Shows the last events of all ranks, and returns how the sessions ended.
  /// Ranks:  collective over the run's ranks.
  SessionsEnd close();

private:
  bool is_screen() const;
  void show(const std::vector<std::string>& packed);
  void show(const Event& event);
  void log_dropped_weights();

  RunContext& run_;
  cluster::Mailbox mailbox_;
  lm::ResidentModels models_;
  std::map<std::vector<int>, std::unique_ptr<cluster::Group>> groups_;
  ExitCode worst_ = ExitCode::done;  // worst exit code of the sessions of this rank
  std::vector<report::Note> notes_;
  std::set<std::string> sessions_with_notes_;
  std::int64_t notes_left_out_ = 0;
  std::function<void()> before_events_;
};

/// The job of a session, and the ranks that run it.
struct SessionRequest {
  std::string name;             // name that the events of the session show
  std::vector<int> members;     // ranks of the run, ascending
  Config config;                // configuration of the session, with the key `job`
  store::RunRequest directory;  // which run directory to open
};

/// How a session ended.
struct SessionOutcome {
  JobOutcome job;                        // only `exit` is set after a failure
  std::optional<ErrorReport> failure{};  // the same on all ranks; empty: the session did not fail
};

/// Formats a failure on one line: its sentence, then the lines with place and evidence.
std::string failure_text(const ErrorReport& report);

/// Runs a job on some ranks of a run, in a separate directory. Other ranks may run other sessions
/// at the same time. The job gets the same results as in a run without sessions. The results depend
/// on neither other sessions nor the number of ranks.
///
/// Ranks:  all calls are collective over the members; other ranks do not take part.
/// Errors: a failure that all members agree on ends only this session, and counts as `incomplete`
///         in SessionsEnd::exit. A crash, a hang, or a failure of one rank that the others do not
///         know of ends the run.
class Session {
public:
  /// Opens the directory of the session. If opening fails on all members, run() does not call the
  /// job, and returns the failure. `host` must outlive the session.
  Session(SessionHost& host, SessionRequest request);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Calls `job`, and records in the directory how it ended. If the job fails, logs event `error`,
  /// and returns the failure in the outcome instead of throwing it.
  SessionOutcome run(const std::function<JobOutcome(RunContext&)>& job);

  /// Returns the session's directory; empty if it could not be opened.
  std::filesystem::path directory() const;

private:
  struct Parts;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu::run
