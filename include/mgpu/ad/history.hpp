#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/ad/environment.hpp>

namespace mgpu::ad {

/// Sizes of the learning histories of one run. All histories of the run have the same sizes.
struct HistoryShape {
  int streams = 0;   // number of histories of each training task
  int episodes = 0;  // number of episodes of each history
  int horizon = 0;   // steps of an episode

  std::size_t steps() const {
    return static_cast<std::size_t>(episodes) * static_cast<std::size_t>(horizon);
  }

  friend bool operator==(const HistoryShape&, const HistoryShape&) = default;
};

/// One learning history: all steps that a learning algorithm (Source) played on one task, episode
/// after episode.
///
/// Shapes: action, reward and landing are [T], T = episodes * horizon. The state before the first
///         step of an episode is the environment's start. The state before any other step t is
///         landing[t - 1].
template <class Byte>
struct BasicHistory {
  int task = 0;    // task of the environment
  int stream = 0;  // index of this history among those of the task
  std::span<Byte> action{};
  std::span<Byte> reward{};
  std::span<Byte> landing{};  // the state after the step, also at the end of an episode
};
using History = BasicHistory<const std::uint8_t>;
using HistorySlot = BasicHistory<std::uint8_t>;

/// A set of learning histories with consecutive ids. Each field is stored as one column.
///
/// The histories of the task with index t in Environment::train_tasks() have the ids t * streams to
/// (t + 1) * streams - 1, in the order of streams. So a range of ids names the same histories on
/// every rank.
class HistorySet {
public:
  /// Makes the histories with ids first_id to first_id + count - 1, filled with zeros.
  /// Errors: Error when an id is not below total(), when `shape` has no streams or no steps, or
  ///         when its horizon is not that of the environment.
  HistorySet(const Environment& environment, HistoryShape shape, std::uint64_t first_id,
             std::size_t count);

  /// Makes the histories of all training tasks, `shape.streams` for each task, filled with zeros.
  /// Errors: Error when `shape` has no streams or no steps, or when its horizon is not that of the
  ///         environment.
  HistorySet(const Environment& environment, HistoryShape shape);

  /// Returns the number of histories of a whole run: training tasks * streams.
  static std::size_t total(const Environment& environment, const HistoryShape& shape);

  std::size_t size() const { return task_.size(); }
  std::uint64_t first_id() const { return first_id_; }
  const HistoryShape& shape() const { return shape_; }

  /// Returns a history by its index in this set, from 0.
  History operator[](std::size_t index) const;
  HistorySlot slot(std::size_t index);

  /// These functions return the columns of the same name, with one row per history.
  /// Shapes: task and stream [N]; action, reward and landing [N, T], with N = size() and T =
  ///         shape().steps()
  std::span<const std::int32_t> task() const { return task_; }
  std::span<const std::int32_t> stream() const { return stream_; }
  std::span<const std::uint8_t> action() const { return action_; }
  std::span<const std::uint8_t> reward() const { return reward_; }
  std::span<const std::uint8_t> landing() const { return landing_; }

  /// These functions return columns as writable spans, for code that fills them from a file.
  /// Shapes: [N, T] as above
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

/// Returns, for each episode number, the mean return (sum of rewards) over all histories.
/// Shapes: result [episodes]
std::vector<double> mean_returns(const HistorySet& histories);

/// Returns the CRC-32C of the shape and all columns, to tell whether two sets are equal.
std::uint32_t crc_of(const HistorySet& histories);

/// Replays the actions of every history in `environment`, and compares the landing cells and
/// rewards.
/// Errors: Failure E521 (exit 65) at the first step whose landing cell or reward differs, or whose
///         action the environment does not have. The failure means that another environment made
///         the histories.
void check_histories(const Environment& environment, const HistorySet& histories);

}  // namespace mgpu::ad
