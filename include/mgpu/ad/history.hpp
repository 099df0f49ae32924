#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/ad/environment.hpp>

namespace mgpu::ad {

/// Sizes of the learning histories of one run.
struct HistoryShape {
  int streams = 0;   // histories of each task
  int episodes = 0;  // of each history
  int horizon = 0;   // steps of an episode

  std::size_t steps() const {
    return static_cast<std::size_t>(episodes) * static_cast<std::size_t>(horizon);
  }

  friend bool operator==(const HistoryShape&, const HistoryShape&) = default;
};

/// One history: the steps of its source, episode after episode.
///
/// Shapes: all three [T] bytes, T = episodes * horizon. The state before step t is
///         landing[t - 1], or the start of the environment where an episode begins.
template <class Byte>
struct BasicHistory {
  int task = 0;    // task of the environment
  int stream = 0;  // index among the task's histories
  std::span<Byte> action{};
  std::span<Byte> reward{};
  std::span<Byte> landing{};  // the state after the step, also at the end of an episode
};
using History = BasicHistory<const std::uint8_t>;
using HistorySlot = BasicHistory<std::uint8_t>;

/// Learning histories with consecutive ids, as columns.
///
/// History `id` is stream id % streams of training task id / streams. So a range of ids determines
/// which histories a file or chunk holds, on any rank.
class HistorySet {
public:
  /// Makes histories with the ids first_id to first_id + count - 1, whose steps are all zero.
  /// Errors: Error past the last id, or for a shape without steps.
  HistorySet(const Environment& environment, HistoryShape shape, std::uint64_t first_id,
             std::size_t count);

  /// Makes all histories of the training tasks, whose steps are all zero.
  HistorySet(const Environment& environment, HistoryShape shape);

  /// Returns the number of ids: training tasks * streams.
  static std::size_t total(const Environment& environment, const HistoryShape& shape);

  std::size_t size() const { return task_.size(); }
  std::uint64_t first_id() const { return first_id_; }
  const HistoryShape& shape() const { return shape_; }

  /// Returns a history by its index in this set, from 0.
  History operator[](std::size_t index) const;
  HistorySlot slot(std::size_t index);

  /// Return columns with one row per history. Shapes: task, stream [N]; action, reward, landing [N,
  /// T].
  std::span<const std::int32_t> task() const { return task_; }
  std::span<const std::int32_t> stream() const { return stream_; }
  std::span<const std::uint8_t> action() const { return action_; }
  std::span<const std::uint8_t> reward() const { return reward_; }
  std::span<const std::uint8_t> landing() const { return landing_; }

  /// Return the same columns for writing, for code that reads histories from a file.
  std::span<std::uint8_t> action() { return action_; }
  std::span<std::uint8_t> reward() { return reward_; }
  std::span<std::uint8_t> landing() { return landing_; }

private:
  HistoryShape shape_;
  std::uint64_t first_id_;
  std::vector<std::int32_t> task_;
  std::vector<std::int32_t> stream_;
  std::vector<std::uint8_t> action_;
  std::vector<std::uint8_t> reward_;
  std::vector<std::uint8_t> landing_;
};

/// Returns the mean sum of rewards of each episode. Shapes: result [episodes]
std::vector<double> mean_returns(const HistorySet& histories);

/// Returns the CRC-32C of the shape and all columns, to tell whether two sets are equal.
std::uint32_t crc_of(const HistorySet& histories);

/// Replays every history. Errors: Failure E521 (exit 65) at the first step whose landing cell or
/// reward differs from the environment's, because the histories belong to another environment.
void check_histories(const Environment& environment, const HistorySet& histories);

}  // namespace mgpu::ad
