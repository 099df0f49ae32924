#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/base/error.hpp>
#include <mgpu/cluster/mailbox.hpp>
#include <mgpu/config/config.hpp>
#include <mgpu/lm/weights/resident_models.hpp>
#include <mgpu/run/run_context.hpp>
#include <mgpu/store/run_dir/run_directory.hpp>

namespace mgpu::run {

/// What the sessions of a run share: groups of ranks, which are made once and used again; model
/// folders that stay in memory; and the way of their events to where the run shows its own. Each
/// event of a session has a field `session` with the name.
///
/// Ranks: made and closed collectively over the run's ranks; all other calls are local, but groups
///        are made collectively over their members.
class SessionHost {
public:
  /// `run` outlives it.
  explicit SessionHost(RunContext& run);

  RunContext& run() { return run_; }
  lm::ResidentModels& models() { return models_; }

  /// These ranks of the run, ascending. Ranks: collective over the members where it is new.
  const cluster::Group& group_of(const std::vector<int>& members);

  /// Shows or sends an event of the leader of a session; on rank 0 of the run, also what has come
  /// from others.
  void event(const std::string& session, const Event& event);

  /// Rank 0 of the run: shows what has come. To be called where it has waited for long.
  void show();

  /// Waits for the events of all ranks.
  void close();

private:
  void show(const std::vector<std::string>& packed);

  RunContext& run_;
  cluster::Mailbox mailbox_;
  lm::ResidentModels models_;
  std::map<std::vector<int>, std::unique_ptr<cluster::Group>> groups_;
};

/// What a session is asked to do.
struct SessionRequest {
  std::string name;          // in events
  std::vector<int> members;  // ranks of the run, ascending
  Config config;             // with the key `job`
  store::RunRequest directory;
};

/// How a session ended.
struct SessionOutcome {
  JobOutcome job;                   // as far as it came
  std::optional<Report> failure{};  // which all its ranks agree on; nothing: it did not fail
};

/// A job on some ranks of a run, in a directory of its own, beside other sessions on other ranks.
/// What it computes depends on neither them nor its ranks, as for the job alone.
///
/// Ranks:  all calls are collective over the members; the others do not take part.
/// Errors: a failure that all members agree on ends this session alone. A crash, a hang, or a
///         failure that other members do not know of ends the run: they are not caught here.
class Session {
public:
  /// The host outlives it. Errors: those of RunDirectory and Topology.
  Session(SessionHost& host, SessionRequest request);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs the job, and records in the directory how it ended.
  SessionOutcome run(const std::function<JobOutcome(RunContext&)>& job);

  const std::filesystem::path& directory() const;

private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace mgpu::run
