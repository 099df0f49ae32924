#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/config/lm_config.hpp>

namespace mgpu::lm {

/// A range of indices: begin .. end - 1.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// The part of a model that one rank holds.
struct Shard {
  Range layers;        // at least one layer
  Range heads;         // query heads
  Range kv_heads;      // key-value heads that the query heads of this shard use
  Range intermediate;  // columns of the MLPs' inner dimension
  Range vocab;         // rows of embedding and head
  bool has_embedding = true;
  bool has_head = true;  // true: the shard has the vocabulary head and the norm before it
  bool is_tensor_parallel = false;  // true: outputs of attention and MLP need an all-reduce

  friend bool operator==(const Shard&, const Shard&) = default;
};

/// Returns the shard that holds the complete model.
Shard whole_model(const LmConfig& config);

/// Returns `config` with the shard's numbers of layers, heads and key-value heads, and its MLP
/// width. The vocabulary size remains that of the complete model, because token ids are global.
LmConfig held_by(const Shard& shard, const LmConfig& config);

/// How one rank communicates with the ranks that hold the other shards of its model. All these
/// ranks have to run the same passes on the same tokens, and to call the functions of this class in
/// the same order.
///
/// Shapes: values float32 (all_reduce() takes other types, too), contiguous, on the model's device,
///         with the same number of elements on all ranks that take part in a call
/// Errors: those of cluster::Communicator.
class ShardPeers {
public:
  ShardPeers() = default;
  ShardPeers(const ShardPeers&) = delete;
  ShardPeers& operator=(const ShardPeers&) = delete;
  ShardPeers(ShardPeers&&) = delete;
  ShardPeers& operator=(ShardPeers&&) = delete;
  virtual ~ShardPeers() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// All-reduces `values` in place (sum of float32, float64 or int32). All ranks get the same bits.
  /// In a pipeline, no pass may be in flight.
  /// Errors: cluster::DivergedFailure if the all-reduce fails, with the communicator's report.
  virtual void all_reduce(const at::Tensor& values) = 0;

  /// Throws on all ranks if any rank cannot continue; for tensor parallelism only. A rank that
  /// cannot continue passes its exception as `failure`, all others pass nullptr.
  /// Errors: cluster::CollectiveFailure on all ranks if the `failure` of any rank is not nullptr.
  virtual void throw_if_any_failed(const std::exception_ptr& failure) = 0;

  /// Runs all_reduce() if no rank has failed; for tensor parallelism only. A rank that has failed
  /// has to call throw_if_any_failed() with its failure instead of this function.
  /// Errors: those of throw_if_any_failed() and all_reduce().
  void all_reduce_if_all_can(const at::Tensor& values) {
    throw_if_any_failed(nullptr);
    all_reduce(values);
  }

  /// For a pipeline only. Waits for the output of the previous stage and stores it in `values`.
  virtual void receive_previous_stage(const at::Tensor& values) = 0;

  /// For a pipeline only. Queues `values` for the next stage. The caller must not change `values`
  /// afterwards.
  virtual void send_next_stage(const at::Tensor& values) = 0;

  /// Starts a pass. sums[i] is the number of rows of the tensor in all-reduce number i of the pass;
  /// `sums` is empty in a pipeline. A rank that cannot continue the pass has to call
  /// participate_without_result().
  virtual void begin_pass(std::vector<std::int64_t> sums) = 0;
  /// Ends a pass that this rank cannot continue, so that the other ranks do not wait forever. In a
  /// pipeline, the function receives and discards the input, unless this rank already has it. The
  /// function then sends `values` to the next stage, unless this rank has already sent its output.
  /// With tensor parallelism, the function contributes zeros to the remaining all-reduces, and uses
  /// the memory of `values` for the zeros.
  ///
  /// Shapes: values [rows, hidden size] float32; in a pipeline, the shape of the stage's input and
  ///         output; with tensor parallelism, at least as many rows as each all-reduce of the pass
  virtual void participate_without_result(const at::Tensor& values) = 0;

  /// Returns the maximum of `mine` over all ranks, on every rank.
  virtual int all_reduce_max(int mine) = 0;

  /// Returns whether this rank broadcasts the outcome of each pass. Only the first rank that has
  /// the vocabulary head does.
  virtual bool is_broadcast_root() const = 0;
  /// Broadcasts `message` to all ranks without waiting for them. Only the rank for which
  /// is_broadcast_root() is true may call this function.
  virtual void post_broadcast(std::string message) = 0;
  /// Waits for the next message of post_broadcast(), and returns the message. Every rank has to
  /// call this function once per message.
  virtual std::string receive_broadcast() = 0;

  /// Returns how many passes must run at the same time to keep all ranks busy.
  virtual int passes_in_flight() const = 0;
};

}  // namespace mgpu::lm
