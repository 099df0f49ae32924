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

/// How a student completes prompts itself while it is trained.
struct OnPolicyConfig {
  double share = 0.0;           // of the completions, in (0, 1]
  GenerationConfig generation;  // its seed decides which ones, too
};

/// Completions of a student's own in the place of the data's, made anew for each step. Which they
/// are, and all draws, follow from seed, epoch and example: neither ranks nor passes change them.
/// In the first epoch an example's draws are those of job generate for that row.
///
/// Source: Agarwal et al., arXiv 2306.13649 (GKD).
class OnPolicyTexts {
public:
  struct Text {
    std::vector<std::int64_t> ids;  // prompt and completion
    std::int64_t prompt = 0;        // tokens of it

    std::int64_t predictions() const { return std::ssize(ids) - prompt; }
  };

  /// `windows` outlive this; their examples have prompts. Errors: Error for a share out of range.
  OnPolicyTexts(OnPolicyConfig config, const LmWindows& windows);

  /// Completes the prompts of windows number [first, first + count) of the training whose turn it
  /// is, within LmWindows::seq_len(). Texts of before go.
  ///
  /// Memory: of TrainableModel::decoder() and a Generator, until it is done.
  /// Errors: those of Generator::run().
  void draw(const TrainableModel& model, std::uint64_t first, std::int64_t count);

  /// What draw() made of an example in the window of that number; nullptr: it is the data's.
  const Text* find(std::uint64_t ordinal, std::size_t example) const;

private:
  std::uint64_t sample_of(std::uint64_t ordinal, std::size_t example) const;
  bool is_drawn(std::uint64_t sample) const;

  OnPolicyConfig config_;
  const LmWindows* windows_;
  std::map<std::uint64_t, Text> texts_;  // by sample
};

}  // namespace mgpu::lm
