#include <utility>

#include <mgpu/cluster/agree.hpp>
#include <mgpu/run/session.hpp>

#include "event_bytes.hpp"

namespace mgpu::run {
namespace {

/// Events and curves of one session on one rank.
class SessionSink final : public EventSink, public ScalarSink {
public:
  SessionSink(RunContext& run, SessionLog& log, const std::string& name, bool is_leader)
      : run_(run), log_(log), name_(name), is_leader_(is_leader) {}

  /// The leader's are those of the session; the others go to the log of their rank.
  void event(const Event& event) override {
    const bool is_screen = run_.topology.world().rank() == 0;
    if (is_leader_)
      log_.event(name_, event);
    else if (!is_screen)
      run_.log.event(event);
    if (is_screen) log_.show();
  }

  void scalar(std::string_view tag, std::int64_t step, double value) override {
    if (is_leader_) run_.scalars.scalar(name_ + "/" + std::string(tag), step, value);
  }

private:
  RunContext& run_;
  SessionLog& log_;
  const std::string& name_;
  bool is_leader_;
};

}  // namespace

SessionLog::SessionLog(RunContext& run) : run_(run), mailbox_(run.topology.world()) {}

void SessionLog::event(const std::string& session, const Event& event) {
  Event named = event;
  named.fields.emplace_back("session", session);
  if (run_.topology.world().rank() == 0)
    run_.log.event(named);
  else
    mailbox_.send(to_bytes(named));
}

void SessionLog::show(const std::vector<std::string>& packed) {
  for (const std::string& bytes : packed)
    run_.log.event(event_from_bytes(bytes));
}

void SessionLog::show() {
  if (run_.topology.world().rank() == 0) show(mailbox_.receive());
}

void SessionLog::close() {
  show(mailbox_.close());
}

/// In the order in which they need each other.
struct Session::Parts {
  Parts(RunContext& parent, SessionLog& events, SessionRequest asked)
      : run(parent),
        log(events),
        request(std::move(asked)),
        group(parent.topology.world().of(request.members, request.tag)),
        cluster(cluster::read_cluster_config(request.config)),
        store(store::read_store_config(request.config)),
        topology(group, cluster.group_sizes()),
        communicator(cluster::make_communicator(topology.across_groups(), parent.backend,
                                                parent.device, {.timeout_s = cluster.timeout_s})),
        directory(group, request.directory),
        journal(directory.path(), group, directory.attempt(), store.sync_s),
        quarantine(directory.path(), group, directory.attempt()),
        sink(parent, events, request.name, group.rank() == 0) {}

  RunContext context() {
    return {request.config,
            cluster,
            store,
            topology,
            *communicator,
            run.device,
            run.backend,
            directory,
            journal,
            quarantine,
            run.stop,
            run.clock,
            sink,
            sink,
            [&](const report::Facts& facts) {
              sink.event({"note", {{"text", facts.data}}});
            },
            [&](std::string_view lines) {
              sink.event({"debug", {{"text", std::string(lines)}}});
            },
            [&] { log.show(); }};
  }

  RunContext& run;
  SessionLog& log;
  SessionRequest request;
  cluster::Group group;
  cluster::ClusterConfig cluster;
  store::StoreConfig store;
  cluster::Topology topology;
  std::unique_ptr<cluster::Communicator> communicator;
  store::RunDirectory directory;
  store::ChunkJournal journal;
  store::Quarantine quarantine;
  SessionSink sink;
};

Session::Session(RunContext& run, SessionLog& log, SessionRequest request)
    : parts_(std::make_unique<Parts>(run, log, std::move(request))) {}

Session::~Session() = default;

const std::filesystem::path& Session::directory() const {
  return parts_->directory.path();
}

SessionOutcome Session::run(const std::function<JobOutcome(RunContext&)>& job) {
  SessionOutcome outcome;
  RunContext context = parts_->context();
  try {
    outcome.job = job(context);
  } catch (const cluster::TogetherError& error) {
    outcome.failure = error.report();
    outcome.job.exit = error.report().exit;
    parts_->sink.event(
        {"warn", {{"text", error.report().sentence}, {"code", error.report().code}}});
  }
  parts_->directory.finish(parts_->group, outcome.job.exit);
  return outcome;
}

}  // namespace mgpu::run
