#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "process_info.hpp"
#include "state_of_slot.hpp"
#include "watcher.hpp"

namespace mgpu::watch {
namespace {

// If the leader of a node gives no heartbeat for this long, the next living rank of the node
// becomes the leader.
constexpr double kBeatLostS = 1.5;
// Interval between two writes of this node's file for other nodes (NodeFiles). The shorter interval
// kPublishUrgentlyS applies while a rank of this node has been silent for more than half of
// limit_s.
constexpr double kPublishEveryS = 1.0;
constexpr double kPublishUrgentlyS = 0.4;
// While a node has been without contact for longer than this, no rank counts as hung, because the
// states of that node's ranks are not known.
constexpr double kNodeQuietS = 4.0;
// A node without contact for this long, or for limit_s if that is longer, is lost.
constexpr double kNodeLostS = 10.0;
// Before a node reports a hang or a lost node, it waits longer than node 0: by its node index times
// kNodePatienceS, but at most by kMaxPatienceS. So nodes 0, 1 and 2 report one after the other,
// although each node sees the state of the other nodes up to a second late.
constexpr double kNodePatienceS = 1.5;
constexpr double kMaxPatienceS = 3.0;
constexpr double kLookCloserS = 0.5;  // inspect the process of a rank that is silent for this long
constexpr std::chrono::milliseconds kSureAfter{20};

bool contains(const std::vector<int>& ranks, int rank) {
  return std::ranges::find(ranks, rank) != ranks.end();
}

}  // namespace

bool Watchdog::Watcher::is_gone(int rank) const {
  if (!contains(visible_, rank)) return false;
  const Slot& slot = slot_of(rank);
  const auto info = process_info(slot.pid);
  return !info || info->is_gone() || info->start_time != slot.start_time;
}

bool Watchdog::Watcher::leads() const {
  for (const int rank : local_ranks()) {
    if (rank == rank_) return true;
    const bool is_here = slot_of(rank).presence == Presence::here;
    const bool beats = silence_->beat_s(static_cast<std::size_t>(rank)) < kBeatLostS;
    if (is_here && beats && !is_gone(rank)) return false;
  }
  return true;
}

/// Returns a dead rank of this node; nullopt if no rank is dead. Before it returns a rank, waits
/// for kSureAfter and checks that rank again. If a launcher kills all ranks, it also kills the
/// calling rank during the wait, so the calling rank does not report a death.
std::optional<int> Watchdog::Watcher::find_dead() const {
  for (const int rank : local_ranks()) {
    const auto is_dead = [&] { return slot_of(rank).presence == Presence::here && is_gone(rank); };
    if (!is_dead()) continue;
    std::this_thread::sleep_for(kSureAfter);
    if (is_dead()) return rank;
  }
  return std::nullopt;
}

void Watchdog::Watcher::look_at_processes() {
  for (const int rank : visible_) {
    Slot& slot = slot_of(rank);
    const auto info = process_info(slot.pid);
    if (!info) continue;
    slot.process_state = info->state;
    const bool is_silent = silence_->progress_s(static_cast<std::size_t>(rank)) > kLookCloserS;
    slot.kernel.set(is_silent ? kernel_words(slot.pid) : "");
  }
}

void Watchdog::Watcher::exchange_with_nodes() {
  const bool is_urgent = std::ranges::any_of(local_ranks(), [&](int rank) {
    return silence_->progress_s(static_cast<std::size_t>(rank)) > options_.limit_s / 2;
  });
  const double every_s = is_urgent ? kPublishUrgentlyS : kPublishEveryS;
  if (silence_->now_s() - published_s_ < every_s) return;
  published_s_ = silence_->now_s();
  nodes_->publish(*shared_);
  read_nodes();
}

/// Reads the other nodes' files. If a file contains a published verdict (the report of an error),
/// copies the verdict to the shared state of this node. Then calls publish_reports(), which ends
/// the process.
void Watchdog::Watcher::read_nodes() {
  for (std::size_t node = 0; node < ranks_of_.size(); ++node) {
    if (std::cmp_equal(node, node_)) continue;
    const NodeFiles::Update update = nodes_->read(static_cast<int>(node), *shared_);
    if (!update.is_new) continue;
    contact_s_[node] = silence_->now_s();
    if (update.verdict < Verdict::published) continue;
    Verdict& verdict = shared_->verdict();
    int none = Verdict::none;
    if (verdict.state.compare_exchange_strong(none, Verdict::being_written)) {
      update.text.copy(verdict.text, Verdict::kTextBytes - 1);
      verdict.state = Verdict::published;
    }
    publish_reports();
  }
}

double Watchdog::Watcher::since_contact_s(int node) const {
  return silence_->now_s() - contact_s_[static_cast<std::size_t>(node)];
}

std::optional<int> Watchdog::Watcher::find_lost_node() const {
  if (!nodes_) return std::nullopt;
  const double limit_s = std::max(kNodeLostS, options_.limit_s) + patience_s();
  for (std::size_t node = 0; node < ranks_of_.size(); ++node) {
    const bool has_left = std::ranges::all_of(
        ranks_of_[node], [&](int rank) { return slot_of(rank).presence == Presence::left; });
    const bool is_own = std::cmp_equal(node, node_);
    if (!is_own && !has_left && since_contact_s(static_cast<int>(node)) > limit_s) {
      return static_cast<int>(node);
    }
  }
  return std::nullopt;
}

std::optional<Culprit> Watchdog::Watcher::find_hung() const {
  // No rank counts as hung while a debugger holds some rank (state t).
  const auto is_held = [](const Slot& slot) {
    return slot.presence == Presence::here && slot.process_state == 't';
  };
  if (std::ranges::any_of(shared_->slots(), is_held)) return std::nullopt;
  for (int node = 0; nodes_ && node < static_cast<int>(ranks_of_.size()); ++node) {
    if (node != node_ && since_contact_s(node) > kNodeQuietS) return std::nullopt;
  }
  return find_culprit(scene(patience_s()).states);
}

double Watchdog::Watcher::patience_s() const {
  return std::min(kNodePatienceS * node_, kMaxPatienceS);
}

bool Watchdog::Watcher::has_long_limit(const Slot& slot) const {
  const std::string_view phase = slot.activity.phase.get();
  return std::ranges::find(options_.slow_phases, phase) != options_.slow_phases.end();
}

Scene Watchdog::Watcher::scene(double patience_s) const {
  Scene scene;
  scene.slots = shared_->slots();
  scene.places = places_;
  scene.report_file = (options_.directory / "hang_report.txt").string();
  for (std::size_t r = 0; r < places_.size(); ++r) {
    const Slot& slot = shared_->slots()[r];
    RankState state = state_of(slot);
    // For a rank of another node, only the time up to the last contact with that node counts.
    const int node = places_[r].node_index;
    state.silent_s = silence_->progress_s(r) - (node == node_ ? 0.0 : since_contact_s(node));
    const bool may_be_slow = state.call() == nullptr && has_long_limit(slot);
    const double limit_s = may_be_slow ? options_.slow_limit_s : options_.limit_s;
    state.is_silent = state.silent_s > limit_s + patience_s;
    scene.states.push_back(std::move(state));
  }
  return scene;
}

}  // namespace mgpu::watch
