#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <mgpu/cluster/try_together.hpp>
#include <mgpu/report/event_line.hpp>
#include <mgpu/run/session.hpp>

#include "event_bytes.hpp"

namespace mgpu::run {
namespace {

// While report.html has fewer notes about sessions than this number, it gets each new note. After
// that, it gets only the first note of each session, up to twice this number in total.
constexpr std::size_t kMostNotes = 20;

/// The exit codes of a run with sessions, the worst one last. A failed session counts as
/// incomplete.
constexpr std::array kExits = {ExitCode::done, ExitCode::incomplete, ExitCode::stopped};

std::int32_t badness_of(ExitCode exit) {
  const auto found = std::ranges::find(kExits, exit);
  const bool is_failure = found == kExits.end();
  return is_failure ? 1 : static_cast<std::int32_t>(found - kExits.begin());
}

std::string text_field(const Event& event, std::string_view name) {
  const Event::Value* value = report::find_field(event, name);
  return value == nullptr ? "" : std::get<std::string>(*value);
}

/// Returns a note for the run's report.html about a warning or failure of one of its sessions.
report::Note note_of(const Event& event) {
  const std::string session = "Session " + text_field(event, "session");
  return {text_field(event, "text"), "",
          session + (event.word == "warn" ? " has warned of this"
                                          : " has failed with " + text_field(event, "code"))};
}

/// Returns the event that a failed session shows. The event contains the failure_text(), the code,
/// and the help text of `report`.
Event failure_event(const ErrorReport& report) {
  Event event{"error", {{"text", failure_text(report)}, {"code", report.code}}};
  if (!report.help.empty()) event.fields.emplace_back("help", report.help);
  return event;
}

/// Receives the events and curves of one rank of a session.
class SessionSink final : public EventSink, public ScalarSink {
public:
  SessionSink(SessionHost& host, const std::string& name, bool is_leader)
      : run_(host.run()), host_(host), name_(name), is_leader_(is_leader) {}

  /// Adds the session's name to the event. An event of the leader goes to rank 0 of the run, which
  /// shows it. An event of another rank goes to the log of that rank.
  void event(const Event& event) override {
    Event named = event;
    named.fields.emplace(named.fields.begin(), "session",
                         name_);  // first field, because long lines are clipped at the end
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

std::string failure_text(const ErrorReport& report) {
  std::string text = report.sentence;
  for (const std::string& line : report.lines)
    text += "; " + line.substr(std::min(line.find_first_not_of(' '), line.size()));
  return text;
}

SessionHost::SessionHost(RunContext& run)
    : run_(run), mailbox_(run.topology.world()), models_(run.topology.node()) {}

const cluster::Group& SessionHost::group_of(const std::vector<int>& members) {
  std::unique_ptr<cluster::Group>& group = groups_[members];
  if (!group) {
    // Groups that are made at the same time have no rank in common. So their first members differ,
    // and can serve as tags of the groups.
    group = std::make_unique<cluster::Group>(run_.topology.world().of(members, members.front()));
  }
  return *group;
}

bool SessionHost::is_screen() const {
  return run_.topology.world().rank() == 0;
}

void SessionHost::event(const Event& event) {
  if (!is_screen()) {
    mailbox_.send(to_bytes(event));
    return;
  }
  if (before_events_) before_events_();
  show();
  show(event);
}

void SessionHost::scalar(const std::string& tag, std::int64_t step, double value) {
  if (is_screen())
    run_.scalars.scalar(tag, step, value);
  else
    mailbox_.send(to_bytes(ScalarPoint{tag, step, value}));
}

void SessionHost::show(const Event& event) {
  run_.log.event(event);
  if (event.word != "warn" && event.word != "error") return;
  const bool is_first = sessions_with_notes_.insert(text_field(event, "session")).second;
  if (notes_.size() < (is_first ? 2 * kMostNotes : kMostNotes))
    notes_.push_back(note_of(event));
  else
    ++notes_left_out_;
}

void SessionHost::show(const std::vector<std::string>& packed) {
  for (const std::string& bytes : packed) {
    const Shown shown = shown_from_bytes(bytes);
    if (const auto* event = std::get_if<Event>(&shown)) show(*event);
    if (const auto* point = std::get_if<ScalarPoint>(&shown))
      run_.scalars.scalar(point->tag, point->step, point->value);
  }
}

void SessionHost::show() {
  if (is_screen()) show(mailbox_.receive());
}

void SessionHost::ended(ExitCode exit) {
  if (badness_of(exit) > badness_of(worst_)) worst_ = exit;
}

/// Shows a note with the number of times that a node dropped the weights of a model folder from its
/// memory, because memory was short. Shows no note if this number is 0. Collective over the run's
/// ranks.
void SessionHost::log_dropped_weights() {
  const bool is_first_of_node = run_.topology.node().rank() == 0;
  const auto dropped = run_.topology.world().all_reduce(
      is_first_of_node ? models_.num_dropped() : 0, cluster::ReduceOp::sum);
  if (dropped > 0 && run_.topology.world().rank() == 0)
    show(Event{"note",
               {{"text", "weights of model folders were dropped " + std::to_string(dropped) +
                             " times, because the memory of a node was short"}}});
}

SessionsEnd SessionHost::close() {
  show(mailbox_.close());
  log_dropped_weights();
  const std::int32_t badness =
      run_.topology.world().all_reduce(badness_of(worst_), cluster::ReduceOp::max);
  if (notes_left_out_ > 0)
    notes_.push_back({std::to_string(notes_left_out_) + " more warnings and errors of sessions", "",
                      "They are in run.log"});
  return {kExits.at(static_cast<std::size_t>(badness)), std::move(notes_)};
}

namespace {

/// The settings that a session reads from its own configuration.
struct SessionKeys {
  cluster::ClusterConfig cluster;
  store::StoreConfig store;
};

/// Reads the settings of a session. The session gets the timeout of the run, so that a hang in a
/// session is detected after the same time as any other hang. Collective over `group`.
SessionKeys read_session_keys(const cluster::Group& group, const Config& config,
                              const RunContext& run) {
  SessionKeys keys;
  cluster::run_together(group, [&] {
    keys = {cluster::read_cluster_config(config), store::read_store_config(config)};
  });
  keys.cluster.timeout_s = run.cluster.timeout_s;
  return keys;
}

}  // namespace

/// The parts of a session, in an order in which each part comes after the parts that it uses.
struct Session::Parts {
  /// Errors: all ranks throw the same error.
  Parts(SessionHost& shared, const SessionRequest& request, const cluster::Group& group,
        SessionSink& shows)
      : host(shared),
        run(shared.run()),
        config(request.config),
        sink(shows),
        keys(read_session_keys(group, config, run)),
        topology(group, keys.cluster.group_sizes()),
        communicator(cluster::make_communicator(topology.across_groups(), run.backend, run.device,
                                                {.timeout_s = keys.cluster.timeout_s})),
        directory(group, request.directory),
        journal(directory.path(), group, directory.attempt(), keys.store.sync_s),
        quarantine(directory.path(), group, directory.attempt()) {}

  RunContext context() {
    return {config,
            keys.cluster,
            keys.store,
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
  const Config& config;
  SessionSink& sink;
  SessionKeys keys;
  cluster::Topology topology;
  std::unique_ptr<cluster::Communicator> communicator;
  store::RunDirectory directory;
  store::ChunkJournal journal;
  store::Quarantine quarantine;
};

/// The data of a session. `parts` is made after all other members.
struct Session::State {
  State(SessionHost& shared, SessionRequest asked)
      : host(shared),
        request(std::move(asked)),
        group(shared.group_of(request.members)),
        sink(shared, request.name, group.rank() == 0) {}

  SessionHost& host;
  SessionRequest request;
  const cluster::Group& group;
  SessionSink sink;
  std::unique_ptr<Parts> parts;          // nullptr: the parts could not be made
  std::optional<ErrorReport> failure{};  // the same on all ranks
};

Session::Session(SessionHost& host, SessionRequest request)
    : state_(std::make_unique<State>(host, std::move(request))) {
  try {
    state_->parts = std::make_unique<Parts>(host, state_->request, state_->group, state_->sink);
  } catch (const cluster::CollectiveFailure& error) {
    state_->failure = error.report();
  }
}

Session::~Session() = default;

std::filesystem::path Session::directory() const {
  return state_->parts ? state_->parts->directory.path() : std::filesystem::path();
}

SessionOutcome Session::run(const std::function<JobOutcome(RunContext&)>& job) {
  SessionOutcome outcome{{}, state_->failure};
  Parts* const parts = state_->parts.get();
  if (parts != nullptr) {
    RunContext context = parts->context();
    try {
      outcome.job = job(context);
    } catch (const cluster::CollectiveFailure& error) {
      outcome.failure = error.report();
    }
  }
  if (outcome.failure) {
    outcome.job.exit = outcome.failure->exit;
    state_->sink.event(failure_event(*outcome.failure));
  }
  if (parts != nullptr) parts->directory.finish(state_->group, outcome.job.exit);
  state_->host.ended(outcome.job.exit);
  return outcome;
}

}  // namespace mgpu::run
