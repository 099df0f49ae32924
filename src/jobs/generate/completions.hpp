#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mgpu/lm/decode/generator.hpp>
#include <mgpu/rows/prompt_encoder.hpp>
#include <mgpu/rows/stop_strings.hpp>

#include "beam_search.hpp"
#include "keys.hpp"

namespace mgpu::jobs {

/// The completions of a prompt, and the status of its row.
struct CompletedPrompt {
  lm::PromptResult result;  // empty if the prompt was not completed
  rows::RowFacts facts;

  /// Has KL(p || q) for each token of each completion, in nats. p is the distribution of
  /// model.path. If there is a guide (the value model of generate.guide.path), p includes the
  /// offsets that the guide adds to the logits. Both distributions are at the sampling temperature
  /// (1 for greedy decoding), without repetition penalty, top k and top p.
  /// - With generate.reference, q is the distribution of the reference.
  /// - With a guide but no reference, q is the distribution of model.path without offsets. The
  ///   value is NaN for tokens that are copied from the row (generate.roll_in), because no guide
  ///   was used for them.
  /// - Without a guide and a reference, `divergences` is empty.
  std::vector<std::vector<double>> divergences{};
};

/// Completes encoded prompts with one model. It needs neither a run directory nor a journal.
class Completer {
public:
  /// Keeps references to `model` and `encoder`, which must outlive this object.
  /// Errors: Failure E603 (exit 66) if generate.stop has texts and `encoder` has no tokenizer.
  Completer(const lm::LanguageModel& model, const rows::PromptEncoder& encoder,
            const GenerateConfig& config);

  /// Makes run() use a BeamSearch. Keeps references to the arguments, which must outlive this
  /// object.
  void use_beams(const SearchKeys& keys, CompletionScorer* scorer);

  /// Completes prompts. Prompt i has the global id `first` + i, which selects its random numbers.
  /// On the CPU the completions of a prompt depend only on the prompt and its id.
  /// Ranks:  collective over the ranks of the model.
  /// Errors: those of lm::Generator::run(); after use_beams(), also those of BeamSearch::run().
  std::vector<CompletedPrompt> run(std::span<const rows::EncodedPrompt> prompts,
                                   std::int64_t first);

  /// Returns the index of the random stream (lm::Prompt::sample) of the first completion of the
  /// prompt with the global id `prompt`. Completion i uses the stream with this index plus i.
  std::uint64_t sample_of(std::int64_t prompt) const {
    return static_cast<std::uint64_t>(prompt * num_samples_);
  }

  std::int64_t batch_size() const { return generator_.batch_size(); }
  void set_batch_size(std::int64_t batch_size);
  void set_progress(const lm::SeeProgress& see);

private:
  rows::RowFacts facts_of(const rows::EncodedPrompt& prompt) const;

  std::vector<lm::PromptResult> results_of(std::span<const rows::EncodedPrompt> prompts,
                                           std::span<const std::size_t> places,
                                           std::span<const lm::Prompt> work);
  std::vector<lm::PromptResult> greedy_and_drawn(std::span<const lm::Prompt> work);

  const lm::LanguageModel& model_;
  const rows::PromptEncoder& encoder_;
  GenerateConfig config_;
  std::int64_t num_samples_;
  bool has_guide_;
  std::optional<rows::StopStrings> stops_;
  lm::Generator generator_;
  std::optional<lm::Generator> greedy_;  // for generate.first_greedy: makes completion 0 of each
                                         // prompt
  lm::SeeProgress see_progress_{};
  std::optional<BeamSearch> beams_;
};

}  // namespace mgpu::jobs
