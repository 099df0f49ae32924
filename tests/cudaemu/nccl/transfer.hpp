#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "segment.hpp"

namespace nccl_standin {

enum class Progress { waiting, moved, done, mismatch };

/// The transfer of one call on one rank. It moves a piece at a time and never blocks.
class Transfer {
public:
  Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;
  virtual ~Transfer() = default;

  /// Moves the next piece if the peers are ready. Returns `mismatch` if a peer makes another call.
  virtual Progress step() = 0;
};

/// A rank of a communicator, with the number of pieces of its collective calls so far.
struct Seat {
  Layout& layout;
  int rank;
  int size;
  std::uint64_t& pieces;
};

std::size_t size_of(ncclDataType_t type);

/// Makes the transfer that computes the sum, minimum or maximum in the order of ranks. 16-bit
/// floats are rounded once, at the end.
std::unique_ptr<Transfer> make_all_reduce(const Seat& seat, const void* from, void* into,
                                          std::size_t count, ncclDataType_t type, ncclRedOp_t op);
std::unique_ptr<Transfer> make_broadcast(const Seat& seat, const void* from, void* into,
                                         std::size_t bytes, int root);
/// Makes a transfer that is done when the receiver has copied all bytes.
std::unique_ptr<Transfer> make_send(const Seat& seat, const void* from, std::size_t bytes,
                                    int peer);
std::unique_ptr<Transfer> make_receive(const Seat& seat, void* into, std::size_t bytes, int peer);

}  // namespace nccl_standin
