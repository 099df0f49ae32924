#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mgpu::recipes {

/// Chooses a prompt for each group of completions of a global batch. Prompts are numbered in the
/// order in which a training draws them, over all epochs.
///
/// The model learns nothing from a group whose rewards are all equal, so refill() gives such a
/// group the next prompt. The choice depends only on the rewards, so all ranks draw the same
/// prompts.
///
/// Source: dynamic sampling of Yu et al., arXiv 2503.14476, section 3.2. There, groups are sampled
///         until enough groups have rewards that differ. Here, groups are replaced at most
///         `max_refills` times.
class GroupDraws {
public:
  GroupDraws(std::size_t groups, std::int64_t max_refills)
      : numbers_(groups), refills_(groups), max_refills_(max_refills) {}

  /// Draws a new prompt for each group. The first prompt is number `next`.
  void begin(std::uint64_t next);

  /// Draws a new prompt for each group whose rewards are all equal (RewardStats::are_equal), and
  /// returns the indices of these groups in ascending order. Returns no groups after `max_refills`
  /// calls since begin().
  ///
  /// Shapes: rewards [groups * completions of a prompt], in the order of the groups
  std::vector<std::size_t> refill(std::span<const double> rewards);

  /// Continues with the numbers of prompts in a checkpoint. `numbers` has one number for each
  /// group, or is empty if the checkpoint has no groups. `next` is the number of the prompt that is
  /// drawn next.
  void restore(std::vector<std::uint64_t> numbers, std::uint64_t next);

  /// Returns the number of the prompt of each group. Shapes: [groups]
  std::span<const std::uint64_t> numbers() const { return numbers_; }

  /// Returns how many times refill() has drawn a new prompt for a group since begin().
  std::int64_t refills(std::size_t group) const { return refills_[group]; }

  /// Returns the number of the prompt that is drawn next.
  std::uint64_t next() const { return next_; }

private:
  std::vector<std::uint64_t> numbers_;  // [groups]
  std::vector<std::int64_t> refills_;   // [groups]
  std::int64_t max_refills_;
  std::int64_t calls_ = 0;  // number of calls of refill() since begin()
  std::uint64_t next_ = 0;
};

}  // namespace mgpu::recipes
