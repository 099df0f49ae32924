#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::recipes {

/// The prompt and completion of an example, and the texts that models write after this prompt.
struct SampleText {
  std::string prompt;
  /// The completion in the data, cut to the maximum length of `generated`. If the example has no
  /// completion, the right answer in the data.
  std::string expected;
  std::string generated;                // text of the trained model, decoded greedily
  double log_prob = 0.0;                // mean log-probability of a generated token, in nats
  std::optional<std::string> before{};  // text of the model before training; nullopt: not generated
};

/// On the CPU, sample_texts() returns no texts for models whose weights have more bytes than this.
inline constexpr std::int64_t kSampledBytes = std::int64_t{1} << 30;

/// Returns greedy completions for some examples, which are evenly spread over `examples`. If an
/// example has learned tokens and a prompt of fewer than two tokens, the model completes the
/// first half of the example instead of the prompt. On the CPU, returns no texts if the weights
/// have more than kSampledBytes bytes. The result depends only on the weights, the examples and the
/// tokenizer.
///
/// Memory: on the CPU a packed copy of the weights.
/// Errors: those of TrainableModel::decoder() and Generator::run().
std::vector<SampleText> sample_texts(const lm::TrainableModel& model,
                                     const lm::LmExamples& examples,
                                     const text::TextFolder& folder);

}  // namespace mgpu::recipes
