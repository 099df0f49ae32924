#include "watcher.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <optional>
#include <utility>

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mgpu/cluster/try_together.hpp>

#include "process_info.hpp"
#include "report_signal.hpp"

namespace mgpu::watch {
namespace {

constexpr std::chrono::milliseconds kBetweenChecks{200};

double unix_now_s() {
  const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
  return now.count();
}

}  // namespace

Watchdog::Watcher::Watcher(const cluster::Topology& topology, CrashFile& crash, Options options)
    : crash_(crash),
      options_(std::move(options)),
      rank_(topology.world().rank()),
      node_(topology.place().node_index),
      places_(topology.places().begin(), topology.places().end()),
      ranks_of_(static_cast<std::size_t>(topology.num_nodes())),
      contact_s_(ranks_of_.size()),
      main_thread_(static_cast<int>(::syscall(SYS_gettid))),
      start_unix_s_(unix_now_s()) {
  for (std::size_t r = 0; r < places_.size(); ++r)
    ranks_of_[static_cast<std::size_t>(places_[r].node_index)].push_back(static_cast<int>(r));
  map_shared_state(topology);
  register_rank(topology);
  open_wakeups();
  open_node_files(topology);
  start();
}

Watchdog::Watcher::~Watcher() {
  is_over_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wakeups_.front().fd, &one, sizeof one);
  thread_.join();
  forget_report_signal();
  own().presence = Presence::left;
  keep_activity_in(nullptr);
  cluster::keep_call_log_in(nullptr);
  const auto has_left = [&](int rank) { return slot_of(rank).presence == Presence::left; };
  if (nodes_ && std::ranges::all_of(local_ranks(), has_left)) nodes_->remove();
}

void Watchdog::Watcher::map_shared_state(const cluster::Topology& topology) {
  const cluster::Group& world = topology.world();
  const bool makes_it = topology.node().rank() == 0;
  std::string name = SharedState::fresh_name();
  std::optional<ErrorReport> failure = cluster::try_together(world, [&] {
    if (makes_it) shared_ = SharedState::create(name, world.size());
  });
  if (!failure) {
    name = topology.node().broadcast(name, 0);
    failure = cluster::try_together(world, [&] {
      if (!makes_it) shared_ = SharedState::open(name, world.size());
    });
  }
  if (makes_it) SharedState::unlink(name);
  if (failure) throw cluster::CollectiveFailure(0, *failure);
}

void Watchdog::Watcher::register_rank(const cluster::Topology& topology) {
  Slot& slot = own();
  const auto self = process_info(::getpid());
  slot.pid = ::getpid();
  slot.start_time = self ? self->start_time : 0;
  keep_activity_in(&slot.activity);
  cluster::keep_call_log_in(&slot.calls);
  slot.presence = Presence::here;
  topology.node().barrier();
}

void Watchdog::Watcher::open_wakeups() {
  handles_.emplace_back(::eventfd(0, EFD_CLOEXEC));
  for (const int rank : local_ranks()) {
    // Leaves out ranks in other containers, whose processes this rank cannot see.
    const Slot& slot = slot_of(rank);
    const auto info = process_info(slot.pid);
    if (!info || info->start_time != slot.start_time) continue;
    visible_.push_back(rank);
    if (rank == rank_) continue;
    handles_.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, slot.pid.load(), 0)));
  }
  for (const FdHandle& handle : handles_)
    wakeups_.push_back({handle.get(), POLLIN, 0});
}

void Watchdog::Watcher::open_node_files(const cluster::Topology& topology) {
  const fs::path folder = options_.directory / "watch";
  if (topology.num_nodes() == 1) {
    std::error_code ignored;  // the folder exists if an earlier attempt had several nodes
    if (rank_ == 0) fs::remove_all(folder, ignored);
    return;
  }
  const std::string run = topology.world().broadcast(SharedState::fresh_name(), 0);
  nodes_.emplace(NodeFiles::Layout{folder, crc32c(run), node_, ranks_of_});
}

void Watchdog::Watcher::start() {
  take_report_signal(shared_->verdict().text);
  silence_.emplace(places_.size(), kBetweenChecks);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // the new thread inherits the mask
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Watchdog::Watcher::run() {
  while (!is_over_) {
    check();
    wait();
  }
}

/// Waits until the next check, which comes early when another rank of this node dies. In that case,
/// a rank that does not lead its node waits up to 40 ms more, so that the leader checks first.
void Watchdog::Watcher::wait() {
  constexpr int kSoonMs = 40;
  static_cast<void>(
      ::poll(wakeups_.data(), wakeups_.size(), static_cast<int>(kBetweenChecks.count())));
  bool has_woken = false;
  for (std::size_t i = 1; i < wakeups_.size(); ++i) {
    if (wakeups_[i].revents == 0) continue;
    wakeups_[i].fd = -1;  // poll() ignores -1; the old descriptor would stay readable
    has_woken = true;
  }
  if (has_woken && !leads()) ::poll(wakeups_.data(), 1, kSoonMs);
}

void Watchdog::Watcher::check() {
  own().beats.fetch_add(1, std::memory_order_relaxed);
  silence_->update(shared_->slots());
  if (shared_->verdict().state >= Verdict::published) follow_verdict();
  if (!leads()) {
    std::fill(contact_s_.begin(), contact_s_.end(), silence_->now_s());
    return;
  }
  if (const auto rank = find_dead()) report_death(*rank);
  look_at_processes();
  if (nodes_) exchange_with_nodes();
  if (const auto node = find_lost_node()) {
    report_and_leave(report_of_lost_node(scene(), *node, since_contact_s(*node)));
  }
  if (nodes_ && find_hung()) read_nodes();  // another node may just have published a verdict
  if (const auto culprit = find_hung()) report_hang(*culprit);
}

}  // namespace mgpu::watch
