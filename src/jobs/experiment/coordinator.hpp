#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <mgpu/base/sinks.hpp>
#include <mgpu/cluster/request_server.hpp>

#include "cell_states.hpp"
#include "earlier_runs.hpp"
#include "job_states.hpp"
#include "schedule.hpp"
#include "stage_end.hpp"
#include "stages.hpp"

namespace mgpu::jobs {

/// Decides which ranks of an experiment run which stage. The coordinator exists on rank 0 only, and
/// answers the requests that ranks send to a cluster::RequestServer. Each request asks for a
/// StageOrder. After a stage has ended, its first rank sends the StageEnd with the next request.
/// All other requests are empty.
///
/// Once every rank has sent a request, the coordinator writes job_states.json after each request.
/// This file contains the state of every stage and cell.
class Coordinator {
public:
  /// `ranks` is the number of ranks of the run. `memory` limits which stages run at the same time
  /// (see Schedule). `states_file` is the path of job_states.json.
  Coordinator(const StageGraph& graph, int ranks, const ExperimentConfig& keys, StagePlace place,
              NodeMemory memory, std::filesystem::path states_file);

  /// Handles the request of a rank. Returns the orders for all waiting ranks whose next stage is
  /// decided. These ranks may or may not include `rank`. Calls must not overlap.
  std::vector<cluster::RequestServer::Answer> take(int rank, const std::string& request);

  /// Returns the events since the last call. Any thread may call this function.
  std::vector<Event> take_events();

  /// Returns the records of all stages. Call it after all ranks have received StageOrder::is_end.
  const std::vector<StageRecord>& records() const { return records_; }

private:
  double now_s() const;
  void record_end(const StageEnd& end);
  bool retry(const StageEnd& end);
  void start_ready();
  bool reuse_ready();
  bool prepare(std::size_t stage);
  void begin(const Assignment& assignment);
  void log_waiting_stages();
  void fail(std::size_t stage, const ErrorReport& report);
  void order_all_to_end();
  std::vector<cluster::RequestServer::Answer> deliver();
  void tell(std::size_t stage);
  void write_states();

  const StageGraph& graph_;
  const std::vector<Stage>& stages_;
  CellStates cells_;
  int ranks_;
  bool stops_on_failure_;
  int retries_;
  StagePlace place_;
  std::filesystem::path states_file_;
  Schedule schedule_;
  std::vector<StageRecord> records_;
  std::vector<StageOrder> orders_;         // by stage; prepare() and begin() fill it
  std::map<std::size_t, int> failures_{};  // number of retries of each stage so far
  std::set<std::size_t> prepared_{};       // stages for which prepare() was called
  std::set<std::size_t> logged_{};         // stages for which log_waiting_stages() added an event
  std::map<int, std::string> outbox_{};    // orders for ranks that have not asked yet
  std::set<int> asking_{};                 // ranks that wait for an order
  std::set<int> has_begun_{};              // ranks that have asked at least once
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::mutex events_mutex_{};
  std::vector<Event> events_{};
};

}  // namespace mgpu::jobs
