#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/cluster/call_log.hpp>
#include <mgpu/cluster/group.hpp>

namespace mgpu::cluster {

#ifndef MGPU_CHECKED
#define MGPU_CHECKED 1
#endif
inline constexpr bool kChecked = MGPU_CHECKED;

enum class CallKind : std::int64_t {
  barrier,
  all_reduce,
  all_gather,
  gather,
  broadcast,
  exchange,
  send_receive,
  connect,
  disconnect,
  split
};

/// The call that a rank is about to make, in a form that can be sent between ranks.
struct Call {
  CallKind kind;
  std::int64_t count = kAnyCount;  // elements; kAnyCount: ranks may pass different counts
  std::int64_t type = 0;           // DType
  std::int64_t detail = 0;         // the ReduceOp or the root

  static constexpr std::int64_t kAnyCount = -1;
  static constexpr int kFields = 4;
  friend bool operator==(const Call&, const Call&) = default;
};
static_assert(sizeof(Call) == Call::kFields * sizeof(std::int64_t));

/// Returns a text about a call: "all_reduce of 12 f32, sum".
std::string describe(const Call& call);

/// Converts a call to the four numbers that the CallLog stores for the watchdog.
inline CallFields words_of(const Call& call) noexcept {
  return {static_cast<std::int64_t>(call.kind), call.count, call.type, call.detail};
}

/// Returns a sentence that names the most frequent call, and each rank whose call differs from it.
/// If several calls are equally frequent, the one of the lowest rank is taken as the most frequent.
/// Returns nullopt when all calls agree.
std::optional<std::string> find_disagreement(std::span<const Call> calls);

MPI_Op mpi_op(ReduceOp op);
DType dtype_of(MPI_Datatype type);
MPI_Datatype mpi_type_of(DType dtype);  // Errors: Error for f16 and bf16, which MPI 3.1 lacks

}  // namespace mgpu::cluster
