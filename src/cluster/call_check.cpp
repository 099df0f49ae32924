#include "call_check.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace mgpu::cluster {
namespace {

constexpr std::array<std::string_view, 10> kKinds = {
    "barrier",  "all_reduce",   "all_gather", "gather",     "broadcast",
    "exchange", "send_receive", "connect",    "disconnect", "split"};
constexpr std::array<std::string_view, 9> kTypes = {"f32", "f64", "f16", "bf16", "i32",
                                                    "i64", "u8",  "u32", "u64"};
constexpr std::array<std::string_view, 3> kOps = {"sum", "min", "max"};

const std::array<std::pair<DType, MPI_Datatype>, 7>& mpi_types() {
  static const std::array<std::pair<DType, MPI_Datatype>, 7> pairs = {{
      {DType::f32, MPI_FLOAT},
      {DType::f64, MPI_DOUBLE},
      {DType::i32, MPI_INT32_T},
      {DType::i64, MPI_INT64_T},
      {DType::u8, MPI_UINT8_T},
      {DType::u32, MPI_UINT32_T},
      {DType::u64, MPI_UINT64_T},
  }};
  return pairs;
}

}  // namespace

std::string describe(const Call& call) {
  std::string text(kKinds.at(static_cast<std::size_t>(call.kind)));
  const bool moves_nothing = call.kind == CallKind::barrier || call.kind == CallKind::connect ||
                             call.kind == CallKind::disconnect || call.kind == CallKind::split;
  if (moves_nothing) return text;
  if (call.count != Call::kAnyCount) text.append(" of ").append(std::to_string(call.count));
  text.append(" ").append(kTypes.at(static_cast<std::size_t>(call.type)));
  if (call.kind == CallKind::all_reduce) {
    text.append(", ").append(kOps.at(static_cast<std::size_t>(call.detail)));
  }
  if (call.kind == CallKind::broadcast || call.kind == CallKind::gather) {
    text.append(", root ").append(std::to_string(call.detail));
  }
  return text;
}

std::string describe(const CallFields& fields) {
  const auto is_below = [](std::int64_t value, std::size_t end) {
    return value >= 0 && std::cmp_less(value, end);
  };
  const bool is_call = is_below(fields[0], kKinds.size()) && is_below(fields[2], kTypes.size()) &&
                       (fields[0] != static_cast<std::int64_t>(CallKind::all_reduce) ||
                        is_below(fields[3], kOps.size()));
  if (!is_call) return "a call";
  return describe(Call{static_cast<CallKind>(fields[0]), fields[1], fields[2], fields[3]});
}

std::optional<std::string> find_disagreement(std::span<const Call> calls) {
  const auto votes = [&](const Call& call) { return std::ranges::count(calls, call); };
  const Call usual = *std::ranges::max_element(calls, {}, votes);
  std::string odd;
  for (std::size_t rank = 0; rank < calls.size(); ++rank) {
    if (calls[rank] == usual) continue;
    odd.append("rank ").append(std::to_string(rank)).append(" calls ");
    odd.append(describe(calls[rank])).append("; ");
  }
  if (odd.empty()) return std::nullopt;
  return odd + "the others call " + describe(usual);
}

DType dtype_of(MPI_Datatype type) {
  const auto* found = std::ranges::find(mpi_types(), type, [](const auto& p) { return p.second; });
  if (found == mpi_types().end()) throw Error("not an MPI type of ours");
  return found->first;
}

MPI_Datatype mpi_type_of(DType dtype) {
  const auto* found = std::ranges::find(mpi_types(), dtype, [](const auto& p) { return p.first; });
  if (found == mpi_types().end()) throw Error("MPI has no 16-bit floats");
  return found->second;
}

MPI_Op mpi_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
      return MPI_SUM;
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::max:
      return MPI_MAX;
  }
  throw Error("unknown ReduceOp " + std::to_string(static_cast<int>(op)));
}

}  // namespace mgpu::cluster
