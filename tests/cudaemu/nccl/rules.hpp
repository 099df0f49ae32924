#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace nccl_standin {

enum class Call {
  get_unique_id,
  init,
  all_reduce,
  broadcast,
  send,
  receive,
  group,
  finalize,
  destroy,
  abort
};
inline constexpr int kCalls = 10;

enum class Answer {
  success,
  in_progress,  // the call is issued some seconds after it has returned
  late,         // the work begins some seconds after it was issued
  error,        // the call returns an error, and does nothing
  async_error,  // the call succeeds; then ncclCommGetAsyncError() reports an error
  never,        // the work does not end until ncclCommAbort()
  lost,         // like `never`, and the peers take this rank for dead
  hang          // the call does not return
};

struct Order {
  Answer answer = Answer::success;
  double seconds = 0.0;
};

/// The rules in the variable CUDAEMU_NCCL (README.md), for the calls of one communicator.
class Rules {
public:
  /// Reads the variable; ends the process if a rule is wrong.
  explicit Rules(int rank);

  /// Counts a call, and returns what the call must do. Any thread may call it.
  Order next(Call call);

  /// Prints how often each call was made.
  void print_counts() const;

  /// Returns whether this rank notices peers that abort or die.
  bool notices_peers() const { return notices_peers_; }

private:
  struct Rule {
    Call call;
    int number;  // of the call, from 1; 0: all
    Order order;
  };

  std::optional<Rule> parse(const std::string& text, int rank) const;

  std::mutex mutex_;
  std::vector<Rule> rules_;
  std::array<int, kCalls> calls_{};
  bool notices_peers_ = true;
};

}  // namespace nccl_standin
