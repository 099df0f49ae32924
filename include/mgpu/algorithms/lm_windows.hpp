#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <mgpu/language/trainable_model.hpp>

namespace mgpu::algorithms {

/// Token sequences to learn from, one after the other; flat, to be sent between ranks.
struct LmExamples {
  std::vector<std::int64_t> ids;         //
  std::vector<std::uint8_t> is_learned;  // of ids: 1 where the token is predicted
  std::vector<std::int64_t> ends;        // of each example, in ids

  std::size_t size() const { return ends.size(); }
  std::int64_t begin(std::size_t example) const { return example == 0 ? 0 : ends[example - 1]; }
  std::int64_t length(std::size_t example) const { return ends[example] - begin(example); }
};

/// A number that differs for other examples.
std::uint32_t crc_of(const LmExamples& examples);

/// Examples packed into windows of at most `seq_len` tokens. They stay whole and do not see each
/// other. Which examples share a window depends on their lengths only: the longest first, each
/// into the fullest window that has room.
///
/// Source: Ding et al., arXiv 2404.10830 (best-fit packing).
class LmWindows {
public:
  /// Shapes: each example has at most seq_len tokens
  LmWindows(LmExamples examples, std::int64_t seq_len, std::uint64_t seed);

  /// Windows of an epoch.
  std::uint64_t size() const { return windows_.size(); }
  const LmExamples& examples() const { return examples_; }

  /// Share of the windows' room that tokens fill.
  double fill() const;

  /// Window number `ordinal` of the training: a permutation of all windows in each epoch.
  std::size_t window_at(std::uint64_t ordinal) const;

  /// Targets of a window.
  std::int64_t predictions(std::size_t window) const { return windows_[window].predictions; }
  std::int64_t tokens(std::size_t window) const { return windows_[window].tokens; }

  /// Its examples, in the order in which append() adds them.
  std::span<const std::size_t> examples_of(std::size_t window) const {
    return windows_[window].examples;
  }

  /// Adds the window's examples to a batch, which looks into this.
  void append(std::size_t window, language::LmBatch& batch) const;

private:
  struct Window {
    std::vector<std::size_t> examples;  // ascending
    std::int64_t tokens = 0;
    std::int64_t predictions = 0;
  };

  void pack();

  LmExamples examples_;
  std::int64_t seq_len_;
  std::uint64_t seed_;
  std::vector<Window> windows_;
};

}  // namespace mgpu::algorithms
