#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// Lets every rank of a group send a request to rank 0 and wait for its answer. Rank 0 may answer
/// much later, for example after requests of other ranks have arrived.
///
/// A separate thread of rank 0 receives the requests of other ranks, because the main thread makes
/// no MPI calls while it computes. The separate thread polls every 2 ms.
///
/// Ranks:  the constructor and the destructor are collective over the group; ask() is local.
///         Destroy the object only after the last ask() of every rank.
class RequestServer {
public:
  /// The answer to the request of rank `rank`, which waits in ask().
  struct Answer {
    int rank = 0;
    std::string text;
  };

  /// Called on rank 0 for each request, one at a time, by any thread of rank 0. Returns the answers
  /// that are now known, which may include answers to earlier requests of other ranks.
  using Handler = std::function<std::vector<Answer>(int rank, const std::string& request)>;

  /// `handler` is used on rank 0 only.
  RequestServer(const Group& group, Handler handler);
  RequestServer(const RequestServer&) = delete;
  RequestServer& operator=(const RequestServer&) = delete;
  ~RequestServer();

  /// Sends a request and returns its answer. Calls `while_waiting` every 2 ms until the answer has
  /// arrived; `while_waiting` may throw to end the wait. There is no deadline, because rank 0 may
  /// answer only after other ranks have finished their work.
  /// Errors: LibraryError of MPI. On rank 0 also the exceptions of the handler, even if a request
  /// of another rank caused them.
  std::string ask(const std::string& request, const std::function<void()>& while_waiting);

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu::cluster
