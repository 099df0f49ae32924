#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <mgpu/cluster/request_server.hpp>

namespace mgpu::cluster {
namespace {

constexpr int kServer = 0;
constexpr int kRequestTag = 1;
constexpr int kReplyTag = 2;
constexpr std::chrono::milliseconds kPause{2};

/// Returns a text that has arrived, and sets `from` to its sender. Returns nullopt if no text has
/// arrived.
std::optional<std::string> receive(const Group& group, int source, int tag, int& from) {
  int is_there = 0;
  MPI_Status status{};
  mpi_check(MPI_Iprobe(source, tag, group.raw(), &is_there, &status));
  if (is_there == 0) return std::nullopt;
  int bytes = 0;
  mpi_check(MPI_Get_count(&status, MPI_BYTE, &bytes));
  std::string text(static_cast<std::size_t>(bytes), '\0');
  from = status.MPI_SOURCE;
  mpi_check(MPI_Recv(text.data(), bytes, MPI_BYTE, from, tag, group.raw(), MPI_STATUS_IGNORE));
  return text;
}

void send(const Group& group, int to, int tag, const std::string& text) {
  mpi_check(MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, to, tag, group.raw()));
}

}  // namespace

struct RequestServer::State {
  Group group;
  Handler handler;
  std::mutex mutex{};                // guards the handler and the two members below
  std::optional<std::string> own{};  // answer to the request of rank 0
  std::exception_ptr failure{};      // exception that ended serve()
  std::atomic<bool> is_over = false;
  std::thread thread{};

  State(const Group& from, Handler answers) : group(from.duplicate()), handler(std::move(answers)) {
    if (group.rank() == kServer && group.size() > 1) thread = std::thread([this] { serve(); });
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  ~State() {
    is_over = true;
    if (thread.joinable()) thread.join();
  }

  void serve() {
    try {
      while (!is_over) {
        int from = 0;
        const auto request = receive(group, MPI_ANY_SOURCE, kRequestTag, from);
        if (request)
          take(from, *request);
        else
          std::this_thread::sleep_for(kPause);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  }

  void take(int rank, const std::string& request) {
    const std::lock_guard lock(mutex);
    for (Answer& answer : handler(rank, request)) {
      if (answer.rank == kServer)
        own = std::move(answer.text);
      else
        send(group, answer.rank, kReplyTag, answer.text);
    }
  }

  std::optional<std::string> take_own_answer() {
    const std::lock_guard lock(mutex);
    if (failure) std::rethrow_exception(failure);
    return std::exchange(own, std::nullopt);
  }

  std::optional<std::string> answer() {
    if (group.rank() == kServer) return take_own_answer();
    int from = 0;
    return receive(group, kServer, kReplyTag, from);
  }
};

RequestServer::RequestServer(const Group& group, Handler handler)
    : state_(std::make_unique<State>(group, std::move(handler))) {}

RequestServer::~RequestServer() = default;

std::string RequestServer::ask(const std::string& request,
                               const std::function<void()>& while_waiting) {
  if (state_->group.rank() == kServer)
    state_->take(kServer, request);
  else
    send(state_->group, kServer, kRequestTag, request);
  for (;;) {
    if (auto text = state_->answer()) return std::move(*text);
    while_waiting();
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace mgpu::cluster
