#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <mgpu/lm/training/lm_batch.hpp>

namespace mgpu::lm {

/// Token sequences to train on, concatenated into flat arrays that can be sent between ranks.
struct LmExamples {
  std::vector<std::int64_t> ids;         // token ids
  std::vector<std::uint8_t> is_learned;  // one value per id; 1: the token is a training target
  std::vector<std::int64_t> ends;        // index in `ids` after the last id of each example

  Columns token_columns{};     // one value per id, about the prediction of the next token
  Columns sequence_columns{};  // one value per example
  /// Columns of texts by name. A column has one text per example.
  std::map<std::string, std::vector<std::string>, std::less<>> texts{};
  std::int64_t group_size = 1;  // number of consecutive examples in a group

  std::size_t size() const { return ends.size(); }
  std::int64_t begin(std::size_t example) const { return example == 0 ? 0 : ends[example - 1]; }
  std::int64_t length(std::size_t example) const { return ends[example] - begin(example); }

  /// Returns how many tokens of an example are training targets. The first token is never a target.
  std::int64_t predictions(std::size_t example) const;

  /// Returns the number of tokens of an example before its completion. The completion is the last
  /// contiguous block of tokens whose `is_learned` is 1. Returns 0 if the example has no such
  /// block.
  std::int64_t prompt_length(std::size_t example) const;
};

/// Returns a checksum of all examples.
std::uint32_t crc_of(const LmExamples& examples);

/// Examples packed into windows of at most `seq_len` tokens. Examples are not split and do not
/// attend to each other. Packing depends only on the lengths of the examples and of their prompts.
/// Examples are placed from the longest to the shortest, each into the fullest window that has room
/// for it. If the constructor reserves room for new completions, the room of an example counts
/// instead of its length.
///
/// If LmExamples::group_size is more than 1, each example is a separate window, and training visits
/// the windows of a group one after the other.
///
/// Source: Ding et al., arXiv 2404.10830 (best-fit packing).
class LmWindows {
public:
  /// If `completion` > 0, a window reserves room for the prompt of each example and `completion`
  /// new tokens, so that training can replace the stored completion with a sampled one
  /// (OnPolicyTexts). The room for an example has at most `seq_len` tokens, and at least as many as
  /// the example. `seed` determines the order in which each epoch visits the windows.
  ///
  /// Shapes: each example has 1 to seq_len tokens; columns have one value per token or example;
  ///         the number of examples is a multiple of LmExamples::group_size
  /// Errors: ShapeError if one of these conditions is violated.
  LmWindows(LmExamples examples, std::int64_t seq_len, std::uint64_t seed,
            std::int64_t completion = 0);

  /// Returns the number of windows of an epoch.
  std::uint64_t size() const { return windows_.size(); }
  const LmExamples& examples() const { return examples_; }

  /// Adds the sequence column `name` to the examples, or replaces the column of this name.
  /// Errors: ShapeError when `values` does not have one value per example.
  void set_sequence_column(const std::string& name, std::vector<double> values);

  /// Returns the number of tokens of all examples, divided by size() * seq_len().
  double fill() const;

  /// Returns the window of visit number `ordinal` of training. Visits are counted from 0 over all
  /// epochs. Each epoch visits the groups of group_size() windows in a new random order, and the
  /// windows of a group one after the other.
  std::size_t window_at(std::uint64_t ordinal) const;

  std::int64_t seq_len() const { return seq_len_; }

  /// Returns the epoch of visit number `ordinal` (see window_at()). Epochs are counted from 0.
  std::uint64_t epoch_of(std::uint64_t ordinal) const { return ordinal / size(); }

  /// group_size() returns how many consecutive windows form a group. group_of() returns the number
  /// of the group to which visit number `ordinal` belongs. Groups are counted from 0 in the order
  /// in which training visits them, over all epochs.
  std::int64_t group_size() const { return examples_.group_size; }
  std::uint64_t group_of(std::uint64_t ordinal) const {
    return ordinal / static_cast<std::uint64_t>(group_size());
  }

  /// predictions() returns how many tokens of a window are training targets. tokens() returns how
  /// many tokens the window has.
  std::int64_t predictions(std::size_t window) const { return windows_[window].predictions; }
  std::int64_t tokens(std::size_t window) const { return windows_[window].tokens; }

  /// Returns the examples of a window in the order in which append() adds them.
  std::span<const std::size_t> examples_of(std::size_t window) const {
    return windows_[window].examples;
  }

  /// append() appends all examples of a window to `batch`; append_example() appends one example.
  /// The batch then refers to memory of this object.
  void append(std::size_t window, LmBatch& batch) const;
  void append_example(std::size_t example, LmBatch& batch) const;

private:
  struct Window {
    std::vector<std::size_t> examples;  // indices of examples, ascending
    std::int64_t tokens = 0;
    std::int64_t predictions = 0;
  };

  std::int64_t room_of(std::size_t example) const;
  void pack();
  void add_example(std::size_t window, std::size_t example);

  LmExamples examples_;
  std::int64_t seq_len_;
  std::uint64_t seed_;
  std::int64_t completion_;  // tokens of a new completion, for which examples get room; 0: none
  std::vector<Window> windows_;
};

}  // namespace mgpu::lm
