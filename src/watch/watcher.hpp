#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <poll.h>

#include <mgpu/watch/watchdog.hpp>

#include "node_files.hpp"
#include "silence.hpp"
#include "watch_reports.hpp"

namespace mgpu::watch {

/// The thread of a Watchdog, and the data of the thread. The leader of a node is the watchdog of
/// the lowest rank that is alive and gives heartbeats, see leads(). The leader finds errors, prints
/// the message, and exchanges files with the other nodes. When the leader has published an error
/// (Verdict), the watchdogs of the node's other ranks write their crash files and exit.
class Watchdog::Watcher {
public:
  Watcher(const cluster::Topology& topology, CrashFile& crash, Options options);
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher();

private:
  // Start (watcher.cpp)
  void map_shared_state(const cluster::Topology& topology);
  void register_rank(const cluster::Topology& topology);
  void open_wakeups();
  void open_node_files(const cluster::Topology& topology);
  void start();

  // The check loop (watcher.cpp)
  void run();
  void wait();
  void check();

  // Observation (watcher_checks.cpp)
  bool leads() const;
  bool is_gone(int rank) const;
  std::optional<int> find_dead() const;
  void look_at_processes();
  void exchange_with_nodes();
  void read_nodes();
  std::optional<int> find_lost_node() const;
  std::optional<Culprit> find_hung() const;
  bool has_long_limit(const Slot& slot) const;
  double patience_s() const;
  Scene scene(double patience_s = 0.0) const;
  double since_contact_s(int node) const;

  // Reports of failures (watcher_end.cpp); the functions with [[noreturn]] end the process
  [[noreturn]] void report_death(int rank);
  [[noreturn]] void report_hang(const Culprit& culprit);
  [[noreturn]] void report_and_leave(const ErrorReport& report);
  [[noreturn]] void follow_verdict();
  [[noreturn]] void publish_reports();
  void note_death(int rank, const char* cause) const;
  void write_crash_file();
  void wait_for_local_reports() const;
  void wait_for_nodes();
  void write_report_file(const ErrorReport& report) const;
  std::string crash_cause_of(int rank) const;

  Slot& slot_of(int rank) const { return shared_->slots()[static_cast<std::size_t>(rank)]; }
  Slot& own() const { return slot_of(rank_); }
  const std::vector<int>& local_ranks() const { return ranks_of_[static_cast<std::size_t>(node_)]; }

  CrashFile& crash_;
  Options options_;
  int rank_;
  int node_;
  std::vector<cluster::RankPlace> places_;  // place of each world rank
  std::vector<std::vector<int>> ranks_of_;  // world ranks of each node
  std::optional<SharedState> shared_;
  std::optional<Silence> silence_;
  std::optional<NodeFiles> nodes_;  // nullopt with a single node
  std::vector<double> contact_s_;   // for each node, time of the last contact, on silence_'s clock
  double published_s_ = 0.0;        // time of this node's last publish(), on silence_'s clock
  std::vector<int> visible_;        // ranks of this node whose process this process can see
  std::vector<FdHandle> handles_;   // owners of the file descriptors in wakeups_
  std::vector<pollfd> wakeups_;     // the first one tells thread_ to end; each other one
                                    // signals the death of another rank of this node
  int main_thread_;
  double start_unix_s_;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace mgpu::watch
