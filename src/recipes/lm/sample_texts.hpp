#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <mgpu/lm/training/lm_windows.hpp>
#include <mgpu/lm/training/trainable_model.hpp>
#include <mgpu/text/text_folder.hpp>

namespace mgpu::recipes {

/// An example of the data, and what the trained model writes after its prompt.
struct SampleText {
  std::string prompt;
  std::string expected;  // the completion in the data, cut to the length that was asked for; or the
                         // right answer of a prompt without a completion
  std::string generated;                // the most probable token at each position
  double log_prob = 0.0;                // mean log-probability of a generated token, in nats
  std::optional<std::string> before{};  // what the start model writes; nullopt: not generated
};

/// On the CPU, sample_texts() returns no texts for models whose weights have more bytes than this.
inline constexpr std::int64_t kSampledBytes = std::int64_t{1} << 30;

/// Returns greedy completions for some examples, which are evenly spread over `examples`. An
/// example without a prompt is divided in the middle. Returns none if kSampledBytes forbids it. The
/// result depends only on the weights, the examples and the tokenizer.
///
/// Memory: on the CPU a packed copy of the weights.
/// Errors: those of TrainableModel::decoder() and Generator::run().
std::vector<SampleText> sample_texts(const lm::TrainableModel& model,
                                     const lm::LmExamples& examples,
                                     const text::TextFolder& folder);

}  // namespace mgpu::recipes
