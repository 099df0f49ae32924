#pragma once

#include <memory>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// Texts that any rank of a group sends to its rank 0 without waiting for it. Rank 0 reads what has
/// come whenever it has time; texts of one rank come in their order.
///
/// Ranks: made and closed collectively over `group`; all other calls are local.
class Mailbox {
public:
  explicit Mailbox(const Group& group);

  /// After a failure rank 0 reads no more: what MPI may still send stays in memory.
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Not on rank 0. Memory: the text until it is sent.
  void send(std::string text);

  /// Rank 0: all texts that have come.
  std::vector<std::string> receive();

  /// Waits until rank 0 has all texts. Returns those that receive() has not given; none elsewhere.
  std::vector<std::string> close();

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu::cluster
