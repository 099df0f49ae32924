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
  double share = 0.0;           // probability that a completion is sampled, in (0, 1]
  GenerationConfig generation;  // sampling.seed also selects which completions are sampled
};

/// Completions that the student samples at each training step. They replace the stored completions
/// of randomly chosen examples. Each example is chosen with probability OnPolicyConfig::share. The
/// choice and the random numbers of an example depend only on seed, epoch and example, not on the
/// number of ranks or passes. In the first epoch, example i gets the same random numbers as row i
/// in a job `generate` with the same seed and one completion per row.
///
/// Source: Agarwal et al., arXiv 2306.13649 (GKD).
class OnPolicyTexts {
public:
  struct Text {
    std::vector<std::int64_t> ids;  // prompt and completion
    std::int64_t prompt = 0;        // number of tokens of the prompt

    std::int64_t predictions() const { return std::ssize(ids) - prompt; }
  };

  /// `windows` has to outlive this object. Each of its examples needs a prompt.
  /// Errors: Error when OnPolicyConfig::share is not in (0, 1].
  OnPolicyTexts(OnPolicyConfig config, const LmWindows& windows);

  /// Samples new completions for the chosen examples in the windows of visits number
  /// first .. first + count - 1 of training (see LmWindows::window_at()). Prompt and completion
  /// together have at most LmWindows::seq_len() tokens. Discards the texts of earlier calls.
  ///
  /// Memory: that of TrainableModel::decoder() and a Generator, until the end of the call.
  /// Errors: those of TrainableModel::decoder() and Generator::run().
  void draw(const TrainableModel& model, std::uint64_t first, std::int64_t count);

  /// Returns the text that the last draw() made for `example`, which is in the window of visit
  /// number `ordinal`; nullptr if the example keeps its stored completion.
  const Text* find(std::uint64_t ordinal, std::size_t example) const;

private:
  std::uint64_t sample_of(std::uint64_t ordinal, std::size_t example) const;
  bool is_drawn(std::uint64_t sample) const;

  OnPolicyConfig config_;
  const LmWindows* windows_;
  std::map<std::uint64_t, Text> texts_;  // the key is sample_of()
};

}  // namespace mgpu::lm
