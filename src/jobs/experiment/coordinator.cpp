#include "coordinator.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <utility>

#include <mgpu/base/file_io.hpp>
#include <mgpu/config/common_keys.hpp>
#include <mgpu/formats/json_value.hpp>
#include <mgpu/report/text_format.hpp>
#include <mgpu/run/session.hpp>

namespace mgpu::jobs {
namespace {

using Answer = cluster::RequestServer::Answer;
using formats::JsonValue;

StageState state_of(ExitCode exit) {
  if (exit == ExitCode::done) return StageState::done;
  return exit == ExitCode::stopped ? StageState::stopped : StageState::failed;
}

JsonValue json_of(const Stage& stage, const StageRecord& record) {
  return JsonValue::Members{
      {"name", stage.name},
      {"job", read_job_name(stage.config)},
      {"state", name_of(record.state)},
      {"ranks", JsonValue::List(record.members.begin(), record.members.end())},
      {"begin_s", record.begin_s},
      {"end_s", record.end_s},
      {"exit", static_cast<int>(record.end.exit)},
      {"directory", record.end.directory},
      {"result", record.end.result},
      {"error", record.end.error}};
}

std::vector<int> all_ranks(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

}  // namespace

Coordinator::Coordinator(const std::vector<Stage>& stages, int ranks, bool stops_on_failure,
                         StagePlace place, std::filesystem::path states_file)
    : stages_(stages),
      ranks_(ranks),
      stops_on_failure_(stops_on_failure),
      place_(std::move(place)),
      states_file_(std::move(states_file)),
      schedule_(needs_of(stages), ranks),
      records_(stages.size()),
      orders_(stages.size()) {
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
  schedule_.end(end.stage, state_of(end.exit));
  if (schedule_.state(end.stage) == StageState::failed && stops_on_failure_) schedule_.stop();
  for (const int member : record.members)
    schedule_.free(member);
  tell(end.stage);
}

void Coordinator::start_ready() {
  while (reuse_ready()) {
  }
  while (const auto assignment = schedule_.next())
    begin(*assignment);
  if (schedule_.is_over()) order_all_to_end();
  write_states();
}

/// Prepares all ready stages. Returns whether one of them was reused or failed, so that others may
/// be ready now.
bool Coordinator::reuse_ready() {
  bool has_changed = false;
  for (const std::size_t stage : schedule_.ready())
    if (prepared_.insert(stage).second) has_changed |= !prepare(stage);
  return has_changed;
}

/// Looks for an earlier run of the stage, and marks the stage as reused if there is one. A stage
/// whose files are wrong fails. Returns whether ranks must still run the stage.
bool Coordinator::prepare(std::size_t index) {
  const Stage& stage = stages_[index];
  StageOrder& order = orders_[index];
  try {
    std::map<std::size_t, std::string> directories;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      order.directories.push_back(records_[s].end.directory);
      if (!order.directories.back().empty()) directories[s] = order.directories.back();
    }
    const PreparedStage prepared = prepare_stage(stage, place_, directories);
    order.stage = index;
    order.chunk_size = prepared.chunk_size;
    order.identity = prepared.identity;
    if (prepared.earlier.empty()) return true;
    schedule_.reuse(index);
    records_[index].end = end_of(read_file(prepared.earlier / kOutcomeFile));
    records_[index].end.stage = index;
    records_[index].end.directory = prepared.earlier.string();
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
  const std::string text = to_text(order);
  for (const int member : assignment.members)
    outbox_[member] = text;
  tell(assignment.stage);
}

void Coordinator::order_all_to_end() {
  const std::string text = to_text(StageOrder{.is_end = true});
  for (const int rank : all_ranks(ranks_))
    outbox_[rank] = text;
}

/// Returns the orders for ranks that wait for one.
std::vector<Answer> Coordinator::deliver() {
  std::vector<Answer> answers;
  std::erase_if(outbox_, [&](const auto& entry) {
    if (asking_.erase(entry.first) == 0) return false;
    answers.push_back({entry.first, entry.second});
    return true;
  });
  return answers;
}

/// Adds an event about the new state of a stage.
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
  JsonValue::List stages;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    records_[s].state = schedule_.state(s);
    stages.push_back(json_of(stages_[s], records_[s]));
  }
  const JsonValue states = JsonValue::Members{{"schema", 1}, {"stages", std::move(stages)}};
  try {
    write_file_durably(states_file_, formats::to_json(states, formats::BadUtf8::replace),
                       "job_states");
  } catch (const Failure& failure) {
    // A resumed run finds finished stages by their run directories, so it does not need the file.
    const std::lock_guard lock(events_mutex_);
    events_.push_back({"warn", {{"text", run::failure_text(failure.report())}}});
  }
}

}  // namespace mgpu::jobs
