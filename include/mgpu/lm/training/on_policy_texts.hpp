#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/lm/training/trainable_model.hpp>

namespace mgpu::lm {

/// Settings of on-policy training: which completions the student samples itself, and how.
struct OnPolicyConfig {
  double share = 0.0;           // fraction of the completions that are sampled, in (0, 1]
  GenerationConfig generation;  // its seed also selects the completions that are sampled
};

/// Completions that the student samples at each step, in place of those of the data. The selection
/// and all draws depend on seed, epoch and example only, not on the number of ranks or passes. In
/// the first epoch, the draws of an example equal those of job generate for its row.
///
/// Source: Agarwal et al., arXiv 2306.13649 (GKD).
class OnPolicyTexts {
public:
  struct Text {
    std::vector<std::int64_t> ids;  // prompt and completion
    std::int64_t prompt = 0;        // number of tokens of the prompt

    std::int64_t predictions() const { return std::ssize(ids) - prompt; }
  };

  /// `windows` have to outlive this object, and their examples need prompts. Errors: Error when the
  /// share is out of range.
  OnPolicyTexts(OnPolicyConfig config, const LmWindows& windows);

  /// Completes the selected prompts of windows [first, first + count) of the training, up to
  /// LmWindows::seq_len() tokens. Discards earlier texts.
  ///
  /// Memory: that of TrainableModel::decoder() and a Generator, until the end of the call.
  /// Errors: those of Generator::run().
  void draw(const TrainableModel& model, std::uint64_t first, std::int64_t count);

  /// Returns the text that draw() made for an example in window `ordinal` of the training; nullptr
  /// if the example uses the completion of the data.
  const Text* find(std::uint64_t ordinal, std::size_t example) const;

private:
  std::uint64_t sample_of(std::uint64_t ordinal, std::size_t example) const;
  bool is_drawn(std::uint64_t sample) const;

  OnPolicyConfig config_;
  const LmWindows* windows_;
  std::map<std::uint64_t, Text> texts_;  // by sample_of()
};

}  // namespace mgpu::lm
