#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

/// Words from one rank of a group to all others, in order, without an agreement: the speaker goes
/// on at once, and each of the others hears them when it comes to ask.
///
/// Ranks:  the constructor is collective over the group; post() is the speaker's, and all ranks
///         hear() each message once, the speaker as well.
/// Memory: a message is kept until all others have taken it.
class Announcements {
public:
  Announcements(const Group& group, int speaker, double timeout_s);
  Announcements(const Announcements&) = delete;
  Announcements& operator=(const Announcements&) = delete;
  ~Announcements();

  bool is_speaker() const;
  void post(std::string message);

  /// The next message. Errors: Failure E402 when it does not come within the deadline.
  std::string hear();

private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mgpu::cluster
