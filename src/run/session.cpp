#include <utility>

#include <mgpu/cluster/agree.hpp>
#include <mgpu/run/session.hpp>

#include "event_bytes.hpp"

namespace mgpu::run {
namespace {

/// Events and curves of one session on one rank.
class SessionSink final : public EventSink, public ScalarSink {
public:
  SessionSink(SessionHost& host, const std::string& name, bool is_leader)
      : run_(host.run()), host_(host), name_(name), is_leader_(is_leader) {}

  /// The leader's are those of the session; the others go to the log of their rank.
  void event(const Event& event) override {
    const bool is_screen = run_.topology.world().rank() == 0;
    if (is_leader_)
      host_.event(name_, event);
    else if (!is_screen)
      run_.log.event(event);
    if (is_screen) host_.show();
  }

  void scalar(std::string_view tag, std::int64_t step, double value) override {
    if (is_leader_) run_.scalars.scalar(name_ + "/" + std::string(tag), step, value);
  }

private:
  RunContext& run_;
  SessionHost& host_;
  const std::string& name_;
  bool is_leader_;
};

}  // namespace

SessionHost::SessionHost(RunContext& run)
    : run_(run), mailbox_(run.topology.world()), models_(run.topology.node()) {}

const cluster::Group& SessionHost::group_of(const std::vector<int>& members) {
  std::unique_ptr<cluster::Group>& group = groups_[members];
  if (!group) {
    // Two groups that are made at the same time have no rank in common: the first one tells them
    // from each other.
    group = std::make_unique<cluster::Group>(run_.topology.world().of(members, members.front()));
  }
  return *group;
}

void SessionHost::event(const std::string& session, const Event& event) {
  Event named = event;
  named.fields.emplace_back("session", session);
  if (run_.topology.world().rank() == 0)
    run_.log.event(named);
  else
    mailbox_.send(to_bytes(named));
}

void SessionHost::show(const std::vector<std::string>& packed) {
  for (const std::string& bytes : packed)
    run_.log.event(event_from_bytes(bytes));
}

void SessionHost::show() {
  if (run_.topology.world().rank() == 0) show(mailbox_.receive());
}

void SessionHost::close() {
  show(mailbox_.close());
}

/// In the order in which they need each other.
struct Session::Parts {
  Parts(SessionHost& shared, SessionRequest asked)
      : host(shared),
        run(shared.run()),
        request(std::move(asked)),
        group(shared.group_of(request.members)),
        cluster(cluster::read_cluster_config(request.config)),
        store(store::read_store_config(request.config)),
        topology(group, cluster.group_sizes()),
        communicator(cluster::make_communicator(topology.across_groups(), run.backend, run.device,
                                                {.timeout_s = cluster.timeout_s})),
        directory(group, request.directory),
        journal(directory.path(), group, directory.attempt(), store.sync_s),
        quarantine(directory.path(), group, directory.attempt()),
        sink(shared, request.name, group.rank() == 0) {}

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
            [&] { host.show(); },
            &host.models()};
  }

  SessionHost& host;
  RunContext& run;
  SessionRequest request;
  const cluster::Group& group;
  cluster::ClusterConfig cluster;
  store::StoreConfig store;
  cluster::Topology topology;
  std::unique_ptr<cluster::Communicator> communicator;
  store::RunDirectory directory;
  store::ChunkJournal journal;
  store::Quarantine quarantine;
  SessionSink sink;
};

Session::Session(SessionHost& host, SessionRequest request)
    : parts_(std::make_unique<Parts>(host, std::move(request))) {}

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
