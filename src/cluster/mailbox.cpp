#include <deque>
#include <utility>

#include <mgpu/cluster/mailbox.hpp>

namespace mgpu::cluster {
namespace {

constexpr int kText = 1;
constexpr int kLast = 2;  // tag of the empty message that close() sends

struct Sent {
  std::string text;
  MPI_Request request = MPI_REQUEST_NULL;
};

}  // namespace

struct Mailbox::State {
  explicit State(const Group& from) : group(from.duplicate()) {}

  void post(std::string text, int tag) {
    sent.push_back({std::move(text)});
    Sent& last = sent.back();
    mpi_check(MPI_Isend(last.text.data(), static_cast<int>(last.text.size()), MPI_BYTE, 0, tag,
                        group.raw(), &last.request));
  }

  /// Frees texts that MPI has sent, oldest first.
  void forget_sent() {
    while (!sent.empty()) {
      int is_done = 0;
      mpi_check(MPI_Test(&sent.front().request, &is_done, MPI_STATUS_IGNORE));
      if (is_done == 0) return;
      sent.pop_front();
    }
  }

  void take(const MPI_Status& status, std::vector<std::string>& texts) {
    int bytes = 0;
    mpi_check(MPI_Get_count(&status, MPI_BYTE, &bytes));
    std::string text(static_cast<std::size_t>(bytes), '\0');
    mpi_check(MPI_Recv(text.data(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, group.raw(),
                       MPI_STATUS_IGNORE));
    if (status.MPI_TAG == kLast)
      ++num_closed;
    else
      texts.push_back(std::move(text));
  }

  Group group;
  std::deque<Sent> sent;  // texts of this rank that MPI may still read
  int num_closed = 0;     // number of ranks that have called close()
};

Mailbox::Mailbox(const Group& group) : state_(std::make_unique<State>(group)) {}

Mailbox::~Mailbox() {
  try {
    state_->forget_sent();
  } catch (const std::exception&) {
    // The texts that MPI may still be sending are kept by release() below.
  }
  if (!state_->sent.empty()) static_cast<void>(state_.release());
}

void Mailbox::send(std::string text) {
  state_->forget_sent();
  state_->post(std::move(text), kText);
}

std::vector<std::string> Mailbox::receive() {
  std::vector<std::string> texts;
  for (;;) {
    int is_there = 0;
    MPI_Status status{};
    mpi_check(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, state_->group.raw(), &is_there, &status));
    if (is_there == 0) return texts;
    state_->take(status, texts);
  }
}

std::vector<std::string> Mailbox::close() {
  std::vector<std::string> texts;
  if (state_->group.rank() != 0) {
    state_->post("", kLast);
    for (Sent& sent : state_->sent)
      mpi_check(MPI_Wait(&sent.request, MPI_STATUS_IGNORE));
    state_->sent.clear();
    return texts;
  }
  while (state_->num_closed < state_->group.size() - 1) {
    MPI_Status status{};
    mpi_check(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, state_->group.raw(), &status));
    state_->take(status, texts);
  }
  return texts;
}

}  // namespace mgpu::cluster
