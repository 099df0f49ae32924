#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/config/lm_config.hpp>

namespace mgpu::lm {

/// Numbers begin .. end - 1.
struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

/// The part of a model that one rank holds.
struct Shard {
  Range layers;    // at least one
  Range heads;     // of queries
  Range kv_heads;  // that those heads look at
  Range inner;     // columns inside the MLPs
  Range vocab;     // rows of embedding and head
  bool has_embedding = true;
  bool has_head = true;     // and the norm before it
  bool is_summand = false;  // what attention and MLP give are terms of a sum over the ranks

  friend bool operator==(const Shard&, const Shard&) = default;
};

/// All of a model.
Shard whole_model(const LmConfig& config);

/// The sizes of what `shard` has: layers, heads, key heads and inner width. The vocabulary stays
/// that of the model, whose ids everybody speaks of.
LmConfig held_by(const Shard& shard, const LmConfig& config);

/// The ranks that hold the other parts, as one of them sees them. On all ranks a forward pass
/// gets the same tokens, and comes here in the same order.
///
/// Shapes: values float32, contiguous, on the model's device, as many on all ranks that meet
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

  /// In place the sum over all ranks, with the same bits on each. Float32 or int32.
  /// Errors: cluster::LoneFailure with the report of the communicator.
  virtual void sum(const at::Tensor& values) = 0;

  /// Where sums are shared: all ranks say whether they can go on.
  /// Errors: cluster::TogetherError on all ranks where one has a `failure`, which may be nullptr.
  virtual void agree(const std::exception_ptr& failure) = 0;

  /// The sum, if all ranks come to it. One that has failed on its way says so by agree().
  void sum_if_all_can(const at::Tensor& values) {
    agree(nullptr);
    sum(values);
  }

  /// Fills `values` with what the rank of the layers before these passed on.
  virtual void receive(const at::Tensor& values) = 0;

  /// Hands values to the rank of the layers behind these, which takes them when it comes to them.
  /// Nobody may write to them any more.
  virtual void pass_on(const at::Tensor& values) = 0;

  /// A pass begins, with sums of so many rows; skip() ends it where this rank cannot go on, and the
  /// others stay in step. Between layers on several ranks those behind get `values`, as many as it
  /// would have passed on. Where sums are shared it adds zeros to those that are left, in `values`.
  ///
  /// Shapes: values [N, D] float32, at least as many rows as each sum of the pass
  virtual void begin_pass(std::vector<std::int64_t> sums) = 0;
  virtual void skip(const at::Tensor& values) = 0;

  /// The largest of what the ranks say, on all of them.
  virtual int most(int mine) = 0;

  /// Whether this rank, the first that has the head, tells the others what came of a pass.
  virtual bool is_speaker() const = 0;
  virtual void announce(std::string words) = 0;  // of the speaker; does not wait
  virtual std::string hear() = 0;  // the next words of the speaker, on each rank and the speaker

  /// Passes that have to be on their way at once for all ranks to have work.
  virtual int passes_in_flight() const = 0;
};

}  // namespace mgpu::lm
