#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/cluster/communicator.hpp>
#include <mgpu/cluster/device_work.hpp>
#include <mgpu/train/tree_reduce.hpp>

namespace mgpu::train {

/// Where the gradient of a parameter lies in the arena, the flat buffer of all gradients.
struct ParameterSpan {
  std::size_t begin = 0;  // first element
  std::size_t count = 0;
};

struct GradientArena {
  BufferView values;  // [elements] f32, all gradients of the model, possibly with gaps
  std::vector<ParameterSpan> parameters;  // disjoint, in the model's order
  std::shared_ptr<const void> owner{};    // keeps the memory of `values` alive
};

struct ReducerOptions {
  std::size_t bucket_bytes = std::size_t{25} << 20;
  int lanes = 0;                 // number of lanes of the global batch; 0: plain sums over ranks
  Accumulate add = add_on_host;  // adds gradients of lanes; for an arena on a GPU, set a function
                                 // that calls a kernel
};

/// Sums gradients over ranks while the backward pass still computes other gradients.
///
/// A separate thread sums a bucket (the gradients of some parameters) over the ranks as soon as all
/// gradients of the bucket are marked ready. Buckets follow the order in which backward is expected
/// to complete gradients. In the first step, this is the reverse order of the model's parameters.
/// In later steps, it is the order in which rank 0 completed the gradients in the last pass of the
/// first step.
///
///     one step:  for each pass: begin_pass(is_last); backward, which calls mark_ready
///                finish();  // the arena now holds the sums
///     lanes:     end_lane() after the last pass of each lane, except this rank's last lane
///
/// Only the last pass of a step communicates. Earlier passes accumulate gradients in the arena,
/// which the caller zeroes before the first pass. Lanes are fixed parts of the global batch; see
/// tree_reduce.hpp.
///
/// Units:  plain sums, not means.
/// Ranks:  every rank of the communicator makes one reducer, and calls finish() or drain() in each
///         step. The communicator must have no other use between begin_pass(true) and finish().
/// Errors: the constructor throws Failure E122 if lanes are used with a wrong number of lanes. The
///         number must be a power of two and a multiple of the number of ranks. The function
///         finish() throws failures of the separate thread. After that, begin_pass(), end_lane()
///         and finish() throw the same failure.
class GradientReducer {
public:
  GradientReducer(cluster::Communicator& communicator, GradientArena arena,
                  ReducerOptions options = {});
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;
  GradientReducer(GradientReducer&&) = delete;
  GradientReducer& operator=(GradientReducer&&) = delete;

  /// Starts no collective and does not wait for other ranks. If the thread is still inside a
  /// collective call, that call is abandoned. MPI may then still write to the arena, so
  /// GradientArena::owner is leaked until the process ends.
  ~GradientReducer();

  /// Starts a pass. `is_last` marks the last pass of a step, which communicates. `producer` is the
  /// stream on which backward runs; null on the CPU.
  void begin_pass(bool is_last, CUstream_st* producer = nullptr);

  /// Declares that backward has started all work for the gradient of `parameter` (its index in
  /// GradientArena::parameters) in this pass. The gradient is complete when the `producer` stream
  /// of begin_pass() has done all work that was enqueued before this call. Any thread may call this
  /// function, once per parameter and pass.
  /// Errors: Error when the parameter is already marked in this pass.
  void mark_ready(std::size_t parameter);

  /// Ends a lane, a fixed part of the global batch. Moves the lane's gradient out of the arena, and
  /// zeroes the arena for the next lane. Do not call this function for this rank's last lane.
  void end_lane();

  /// Waits until all buckets are summed over the ranks. For parameters that were not marked ready,
  /// the current values of the arena are summed. Returns the wait time in seconds: the
  /// communication time that did not overlap with backward.
  double finish();

  /// Replaces finish() on a rank that failed during a step. This call takes part in the collectives
  /// of the step with the current values of the arena. The other ranks can then finish the step and
  /// learn of the failure in run_together(). Returns false if one of these collectives fails; after
  /// that, the ranks cannot synchronize any more.
  [[nodiscard]] bool drain() noexcept;

  /// Returns how many lanes (fixed parts of the global batch) this rank has in each step, or 1 if
  /// ReducerOptions::lanes is 0.
  int local_lanes() const { return local_lanes_; }
  std::size_t num_buckets() const { return buckets_.size(); }

  /// Returns how many buckets of the current pass are already summed over the ranks.
  std::size_t reduced_buckets() const { return reduced_; }

private:
  struct Bucket {
    std::vector<ParameterSpan> runs;  // arena ranges that hold the gradients of the bucket
    std::size_t num_parameters = 0;
    std::size_t num_missing = 0;  // parameters that are not ready yet in this pass
    cluster::Event produced;      // recorded when the bucket is complete
  };
  /// Memory to which MPI may still write after a call was abandoned. After such a call, the
  /// destructor of GradientReducer leaks this memory.
  struct Memory {
    std::shared_ptr<const void> owner;
    std::optional<cluster::Buffer> scratch;  // with lanes: receives the data of a peer
  };

  void cut_buckets(const std::vector<std::uint32_t>& order);
  void add_bucket(std::vector<std::uint32_t> parameters);
  std::vector<std::uint32_t> agree_on_order();
  void mark_locked(std::size_t parameter);
  void throw_if_failed() const;
  void work();
  void reduce(const Bucket& bucket);

  cluster::Communicator& communicator_;
  GradientArena arena_;
  ReducerOptions options_;
  int local_lanes_ = 1;
  cluster::Stream stream_;
  std::unique_ptr<Memory> memory_;
  std::optional<LaneTree> tree_;
  std::vector<Bucket> buckets_;                // in the order in which they are reduced
  std::vector<std::size_t> bucket_of_;         // [parameters] bucket of each parameter
  std::vector<std::uint32_t> arena_position_;  // [parameters] place in the arena's order
  bool has_seen_order_ = false;

  std::mutex mutex_;  // protects the members below, except thread_
  std::condition_variable changed_;
  std::vector<std::uint32_t> order_;  // parameters in the order in which they became ready in this
                                      // pass
  std::vector<std::uint8_t> is_ready_;
  CUstream_st* producer_ = nullptr;
  bool is_last_pass_ = false;
  bool is_reducing_ = false;  // the thread is inside a call of the communicator
  bool is_stopping_ = false;
  std::exception_ptr failure_;
  std::atomic<std::size_t> reduced_ = 0;

  std::thread thread_;  // last member, because the thread uses all members above
};

}  // namespace mgpu::train
