#pragma once

#include <memory>
#include <string>
#include <vector>

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// Lets any rank of a group send texts to rank 0 of the group without waiting for rank 0. Rank 0
/// polls for texts that have arrived. Texts of one rank arrive in the order in which they were
/// sent.
///
/// Ranks:  the constructor, the destructor and close() are collective over `group`; all other calls
///         are local.
class Mailbox {
public:
  explicit Mailbox(const Group& group);

  /// Leaks the texts that MPI may still be sending, if close() has not waited for them. The
  /// destructor does not wait, because after a failure rank 0 no longer receives texts.
  ~Mailbox();
  Mailbox(const Mailbox&) = delete;
  Mailbox& operator=(const Mailbox&) = delete;

  /// Sends `text` to rank 0. Any rank except rank 0 may call this function. The mailbox keeps the
  /// text until MPI has sent it.
  void send(std::string text);

  /// Returns all texts that have arrived. Only rank 0 may call it.
  std::vector<std::string> receive();

  /// On rank 0, waits until all texts have arrived, and returns those that receive() has not
  /// returned yet. On other ranks, waits until MPI has sent this rank's texts, and returns an empty
  /// list.
  std::vector<std::string> close();

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu::cluster
