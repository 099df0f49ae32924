#include <utility>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/run/session.hpp>

#include "event_bytes.hpp"

namespace mgpu::run {
namespace {

/// Where one rank of a session sends its events and curves.
class SessionSink final : public EventSink, public ScalarSink {
public:
  SessionSink(SessionHost& host, const std::string& name, bool is_leader)
      : run_(host.run()), host_(host), name_(name), is_leader_(is_leader) {}

  /// Events of the leader are shown as events of the session. Those of other ranks go to the log of
  /// their rank, with the session's name.
  void event(const Event& event) override {
    Event named = event;
    named.fields.emplace_back("session", name_);
    if (is_leader_)
      host_.event(named);
    else
      run_.log.event(named);
    host_.show();
  }

  void scalar(std::string_view tag, std::int64_t step, double value) override {
    if (is_leader_) host_.scalar(name_ + "/" + std::string(tag), step, value);
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
    // Groups that are made at the same time have no rank in common, so the first member is a tag
    // that no two of them share.
    group = std::make_unique<cluster::Group>(run_.topology.world().of(members, members.front()));
  }
  return *group;
}

bool SessionHost::is_screen() const {
  return run_.topology.world().rank() == 0;
}

void SessionHost::event(const Event& event) {
  if (is_screen())
    run_.log.event(event);
  else
    mailbox_.send(to_bytes(event));
}

void SessionHost::scalar(const std::string& tag, std::int64_t step, double value) {
  if (is_screen())
    run_.scalars.scalar(tag, step, value);
  else
    mailbox_.send(to_bytes(ScalarPoint{tag, step, value}));
}

void SessionHost::show(const std::vector<std::string>& packed) {
  for (const std::string& bytes : packed) {
    const Shown shown = shown_from_bytes(bytes);
    if (const auto* event = std::get_if<Event>(&shown)) run_.log.event(*event);
    if (const auto* point = std::get_if<ScalarPoint>(&shown))
      run_.scalars.scalar(point->tag, point->step, point->value);
  }
}

void SessionHost::show() {
  if (is_screen()) show(mailbox_.receive());
}

void SessionHost::close() {
  show(mailbox_.close());
}

/// The parts of a session, each after those it uses.
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
            [&](const report::BannerFacts& facts) {
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
  } catch (const cluster::CollectiveFailure& error) {
    outcome.failure = error.report();
    outcome.job.exit = error.report().exit;
    parts_->sink.event(
        {"warn", {{"text", error.report().sentence}, {"code", error.report().code}}});
  }
  parts_->directory.finish(parts_->group, outcome.job.exit);
  return outcome;
}

}  // namespace mgpu::run
