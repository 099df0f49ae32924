#include <deque>
#include <utility>
#include <vector>

#include <mgpu/cluster/ordered_broadcast.hpp>

#include "waiter.hpp"

namespace mgpu::cluster {
namespace {

constexpr int kBroadcastTag = 2;

/// A message that MPI may still be reading.
struct Posted {
  std::string message;
  std::vector<MPI_Request> requests;

  bool is_taken() {
    int is_done = 0;
    mpi_check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &is_done,
                          MPI_STATUSES_IGNORE));
    return is_done != 0;
  }
};

}  // namespace

struct OrderedBroadcast::State {
  Group group;
  int root;
  Waiter waiter;
  std::deque<std::string> own{};                 // on the root: messages that it has posted
                                                 // but not yet received itself
  std::deque<std::unique_ptr<Posted>> posted{};  // messages that MPI may still read

  State(const Group& from, int who, double timeout_s)
      : group(from.duplicate()), root(who), waiter(group, timeout_s) {}
};

OrderedBroadcast::OrderedBroadcast(const Group& group, int root, double timeout_s)
    : state_(std::make_unique<State>(group, root, timeout_s)) {}

OrderedBroadcast::~OrderedBroadcast() {
  while (!state_->posted.empty()) {
    try {
      if (!state_->posted.front()->is_taken()) break;
    } catch (const std::exception&) {
      break;
    }
    state_->posted.pop_front();
  }
  // If a peer failed, it may never receive the remaining messages. MPI may still read these
  // messages, so release() keeps them in memory.
  if (!state_->posted.empty()) static_cast<void>(state_.release());
}

bool OrderedBroadcast::is_root() const {
  return state_->group.rank() == state_->root;
}

void OrderedBroadcast::post(std::string message) {
  if (!is_root()) throw Error("OrderedBroadcast: only the root posts");
  while (!state_->posted.empty() && state_->posted.front()->is_taken())
    state_->posted.pop_front();
  state_->own.push_back(message);
  if (state_->group.size() == 1) return;
  state_->posted.push_back(std::make_unique<Posted>(Posted{std::move(message), {}}));
  Posted& it = *state_->posted.back();
  for (int peer = 0; peer < state_->group.size(); ++peer) {
    if (peer == state_->root) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    mpi_check(MPI_Isend(it.message.data(), static_cast<int>(it.message.size()), MPI_BYTE, peer,
                        kBroadcastTag, state_->group.raw(), &request));
    it.requests.push_back(request);
  }
}

std::string OrderedBroadcast::receive() {
  if (is_root()) {
    if (state_->own.empty()) throw Error("OrderedBroadcast: nothing was posted");
    std::string message = std::move(state_->own.front());
    state_->own.pop_front();
    return message;
  }
  MPI_Status status{};
  const auto inside = state_->waiter.begin(
      {CallKind::send_receive, Call::kAnyCount, static_cast<std::int64_t>(DType::u8), state_->root},
      state_->root);
  state_->waiter.until([&] {
    int is_there = 0;
    mpi_check(MPI_Iprobe(state_->root, kBroadcastTag, state_->group.raw(), &is_there, &status));
    return is_there != 0;
  });
  int bytes = 0;
  mpi_check(MPI_Get_count(&status, MPI_BYTE, &bytes));
  std::string message(static_cast<std::size_t>(bytes), '\0');
  mpi_check(MPI_Recv(message.data(), bytes, MPI_BYTE, state_->root, kBroadcastTag,
                     state_->group.raw(), MPI_STATUS_IGNORE));
  return message;
}

}  // namespace mgpu::cluster
