#include <bit>
#include <string>
#include <utility>

#include <mgpu/base/error.hpp>
#include <mgpu/train/tree_reduce.hpp>

namespace mgpu::train {
namespace {

bool is_power_of_two(int n) {
  return n > 0 && std::has_single_bit(static_cast<unsigned>(n));
}

/// Formats the powers of two up to `lanes`: "1, 2, 4 or 8".
std::string divisors_of_power(int lanes) {
  std::string text = "1";
  for (int n = 2; n <= lanes; n *= 2)
    text.append(n == lanes ? " or " : ", ").append(std::to_string(n));
  return text;
}

}  // namespace

void add_on_host(BufferView into, BufferView from, CUstream_st* /*stream*/) {
  if (into.dtype != DType::f32 || from.dtype != DType::f32) throw Error("lanes are summed in f32");
  if (from.count < into.count) throw ShapeError("add_on_host: too few values");
  auto* sum = static_cast<float*>(into.data);
  const auto* addend = static_cast<const float*>(from.data);
  for (std::size_t i = 0; i < into.count; ++i)
    sum[i] += addend[i];
}

void check_lanes(int lanes, int ranks) {
  ErrorReport report{"E122", ExitCode::config, "", {}, ""};
  if (!is_power_of_two(lanes)) {
    report.sentence = "train.lanes is " + std::to_string(lanes) + ", not a power of two";
    report.help = "train.lanes=16";
    throw Failure(report);
  }
  if (ranks > 0 && lanes % ranks == 0) return;
  report.sentence =
      std::to_string(lanes) + " lanes cannot be shared by " + std::to_string(ranks) + " ranks";
  report.lines = {"  run.deterministic=layout gives the same bits at every number of ranks that",
                  "  divides train.lanes."};
  report.help = "start " + divisors_of_power(lanes) + " ranks, or set run.deterministic=false";
  throw Failure(report);
}

LaneTree::LaneTree(BufferView arena, int local_lanes, Accumulate add)
    : arena_(arena), local_lanes_(local_lanes), add_(std::move(add)) {
  if (!is_power_of_two(local_lanes)) throw Error("local lanes are not a power of two");
  for (int lanes = 1; lanes < local_lanes; lanes *= 2)
    levels_.emplace_back(arena.device, arena.bytes());
}

BufferView LaneTree::level(std::size_t index) const {
  return levels_[index].view(arena_.count, arena_.dtype);
}

void LaneTree::add_lane(CUstream_st* stream) {
  if (lanes_added_ + 1 >= local_lanes_) throw Error("the last lane's gradient stays in the arena");
  const auto lane = static_cast<unsigned>(lanes_added_++);
  std::size_t k = 0;
  for (; (lane >> k & 1U) != 0; ++k)
    add_(arena_, level(k), stream);
  cluster::copy(level(k), arena_, stream);
  cluster::zero(arena_, stream);
}

void LaneTree::require_last_lane() const {
  if (lanes_added_ + 1 == local_lanes_) return;
  throw Error(std::to_string(lanes_added_) + " of " + std::to_string(local_lanes_ - 1) +
              " lanes were put away before the last one");
}

void LaneTree::add_to_last(std::size_t begin, std::size_t count, CUstream_st* stream) const {
  for (std::size_t k = 0; k < levels_.size(); ++k)
    add_(cluster::slice(arena_, begin, count), cluster::slice(level(k), begin, count), stream);
}

void add_across_ranks(cluster::Communicator& communicator, BufferView values, BufferView scratch,
                      const Accumulate& add, const cluster::Stream& stream) {
  const cluster::Event summed(values.device);
  const BufferView theirs = cluster::slice(scratch, 0, values.count);
  for (int distance = 1; distance < communicator.size(); distance *= 2) {
    // The exchange waits for the previous addition, which writes `values` and reads the scratch
    // buffer.
    summed.record(stream.get());
    communicator.wait_for(summed.get());
    communicator.exchange(values, theirs, communicator.rank() ^ distance);
    add(values, theirs, stream.get());
  }
  summed.record(stream.get());
  summed.wait();
}

}  // namespace mgpu::train
