#include "coordinator.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include <mgpu/report/text_format.hpp>
#include <mgpu/run/session.hpp>

#include "joined_rounds.hpp"

namespace mgpu::jobs {
namespace {

using Answer = cluster::RequestServer::Answer;

StageState state_of(ExitCode exit) {
  if (exit == ExitCode::done) return StageState::done;
  return exit == ExitCode::stopped ? StageState::stopped : StageState::failed;
}

std::vector<int> all_ranks(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

Coordinator::Coordinator(const StageGraph& graph, int ranks, const ExperimentConfig& keys,
                         StagePlace place, NodeMemory memory, std::filesystem::path states_file)
    : graph_(graph),
      stages_(graph.stages),
      cells_(graph),
      ranks_(ranks),
      stops_on_failure_(keys.stops_on_failure),
      retries_(keys.retries),
      place_(std::move(place)),
      states_file_(std::move(states_file)),
      schedule_(needs_of(stages_), ranks, keys.urgency),
      records_(stages_.size()),
      orders_(stages_.size()) {
  schedule_.limit_memory(std::move(memory));
  for (const int rank : all_ranks(ranks))
    schedule_.free(rank);
}

double Coordinator::now_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
}

std::vector<Answer> Coordinator::take(int rank, const std::string& request) {
  if (!request.empty()) record_end(end_of(request));
  asking_.insert(rank);
  has_begun_.insert(rank);
  // Wait until every rank has asked once, so that the first stages share all ranks.
  if (std::cmp_equal(has_begun_.size(), ranks_)) start_ready();
  return deliver();
}

void Coordinator::record_end(const StageEnd& end) {
  StageRecord& record = records_.at(end.stage);
  record.end = end;
  record.end_s = now_s();
  if (retry(end)) {
    record.end = {};
  } else {
    schedule_.end(end.stage, state_of(end.exit));
  }
  if (schedule_.state(end.stage) == StageState::failed && stops_on_failure_) schedule_.stop();
  for (const int member : record.members)
    schedule_.free(member);
  tell(end.stage);
}

/// If the stage failed and experiment.retries allows another try, sets the stage to waiting, adds a
/// warning event and returns true. Otherwise returns false. No try is allowed if
/// experiment.on_failure is `stop` and Schedule::stop() was called.
bool Coordinator::retry(const StageEnd& end) {
  if (state_of(end.exit) != StageState::failed || failures_[end.stage] == retries_) return false;
  if (stops_on_failure_ && schedule_.is_stopped()) return false;
  ++failures_[end.stage];
  schedule_.retry(end.stage);
  const std::string why = end.error.empty() ? end.result : end.error;
  const std::string when = schedule_.is_stopped() ? " when the run is resumed" : "";
  const std::string text = stages_[end.stage].name + " failed and begins again" + when + ": " + why;
  const std::lock_guard lock(events_mutex_);
  events_.push_back({"warn", {{"text", "stage " + text}}});
  return true;
}

void Coordinator::start_ready() {
  while (reuse_ready()) {
  }
  while (const auto assignment = schedule_.next())
    begin(*assignment);
  log_waiting_stages();
  if (schedule_.is_over()) order_all_to_end();
  write_states();
}

/// Calls prepare() for each ready stage that is not prepared yet. Returns whether a stage was
/// reused or failed. If so, the caller calls reuse_ready() again, because other stages may have
/// become ready.
bool Coordinator::reuse_ready() {
  bool has_changed = false;
  for (const std::size_t stage : schedule_.ready())
    if (prepared_.insert(stage).second) has_changed |= !prepare(stage);
  return has_changed;
}

/// Writes the files that join the rows of several rounds for this stage (join_rounds()). Then looks
/// for an earlier run of the stage with the same settings and files. If there is one, marks the
/// stage as reused. If an exception is thrown, for example because a file is missing, marks the
/// stage as failed. Returns whether ranks must still run the stage.
bool Coordinator::prepare(std::size_t index) {
  const Stage& stage = stages_[index];
  StageOrder& order = orders_[index];
  try {
    std::map<std::size_t, std::string> directories;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      order.directories.push_back(records_[s].end.directory);
      if (!order.directories.back().empty()) directories[s] = order.directories.back();
    }
    join_rounds(stage, directories);
    const PreparedStage prepared = prepare_stage(stage, place_, directories);
    order.stage = index;
    order.chunk_size = prepared.chunk_size;
    order.identity = prepared.identity;
    if (prepared.earlier.empty()) return true;
    schedule_.reuse(index);
    records_[index].end = prepared.end;
    records_[index].end.stage = index;
    tell(index);
  } catch (const std::exception& error) {
    fail(index, report_of(error));
  }
  return false;
}

void Coordinator::fail(std::size_t stage, const ErrorReport& report) {
  schedule_.fail(stage);
  records_[stage].end = {.stage = stage, .exit = report.exit, .error = run::failure_text(report)};
  if (stops_on_failure_) schedule_.stop();
  tell(stage);
}

void Coordinator::begin(const Assignment& assignment) {
  StageRecord& record = records_[assignment.stage];
  record.members = assignment.members;
  record.begin_s = now_s();
  StageOrder& order = orders_[assignment.stage];
  order.members = assignment.members;
  order.rank_bytes = schedule_.rank_bytes(assignment.stage);
  const std::string text = to_text(order);
  for (const int member : assignment.members)
    outbox_[member] = text;
  tell(assignment.stage);
}

/// Adds an event for each stage that waits for memory, at most once per stage.
void Coordinator::log_waiting_stages() {
  for (const std::size_t stage : schedule_.waited_for_memory()) {
    if (!logged_.insert(stage).second) continue;
    const std::uint64_t bytes = schedule_.rank_bytes(stage);
    const std::lock_guard lock(events_mutex_);
    events_.push_back(
        {"note",
         {{"text", "stage " + stages_[stage].name + " waits for memory: a rank needs " +
                       report::bytes_text(bytes) +
                       ", and other stages use the memory of the node"}}});
  }
}

void Coordinator::order_all_to_end() {
  const std::string text = to_text(StageOrder{.is_end = true});
  for (const int rank : all_ranks(ranks_))
    outbox_[rank] = text;
}

/// Returns the orders for the ranks that wait for an order, and removes them from the outbox.
std::vector<Answer> Coordinator::deliver() {
  std::vector<Answer> answers;
  std::erase_if(outbox_, [&](const auto& entry) {
    if (asking_.erase(entry.first) == 0) return false;
    answers.push_back({entry.first, entry.second});
    return true;
  });
  return answers;
}

/// Copies the state of a stage from the schedule to its record, and adds an event about the state.
void Coordinator::tell(std::size_t stage) {
  StageRecord& record = records_[stage];
  record.state = schedule_.state(stage);
  const bool has_failed = record.state == StageState::failed;
  Event event{"job",
              {{"stage", stages_[stage].name}, {"state", std::string(name_of(record.state))}}};
  if (!record.members.empty())
    event.fields.emplace_back("ranks", report::rank_list(record.members));
  if (has_failed && !record.end.error.empty()) event.fields.emplace_back("error", record.end.error);
  if (!record.end.result.empty()) event.fields.emplace_back("result", record.end.result);
  const std::lock_guard lock(events_mutex_);
  events_.push_back(std::move(event));
}

std::vector<Event> Coordinator::take_events() {
  const std::lock_guard lock(events_mutex_);
  return std::exchange(events_, {});
}

void Coordinator::write_states() {
  for (std::size_t s = 0; s < stages_.size(); ++s)
    records_[s].state = schedule_.state(s);
  try {
    write_file_durably(states_file_, job_states(graph_, cells_, records_), "job_states");
  } catch (const Failure& failure) {
    // The run continues without this file. A resumed run does not need it, because finished stages
    // are found by their run directories.
    const std::lock_guard lock(events_mutex_);
    events_.push_back({"warn", {{"text", run::failure_text(failure.report())}}});
  }
}

}  // namespace mgpu::jobs
