#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/base/file_io.hpp>
#include <mgpu/lm/config/step_head.hpp>
#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/lm/weights/resident_models.hpp>

namespace mgpu::lm {

/// The tokens of a prompt and a solution, and the ends of the solution's steps. A step is judged at
/// its last token.
struct SteppedSequence {
  std::vector<std::int64_t> ids{};
  std::vector<std::int64_t> ends{};  // number of tokens up to the end of each step, ascending
};

/// A process reward model, which computes, for each step of a solution, the probability that the
/// step is right. It is a ForTokenClassification model with one or two outputs.
///
/// On the CPU the bits of a probability depend only on the tokens up to the end of its step. With
/// RopeKind::dynamic they also depend on the number of tokens up to the end of the last step.
class StepScorer {
public:
  /// Opens a folder. With `resident`, the ranks of a node share one copy of the weights.
  ///
  /// Ranks:  local
  /// Memory: the weights on `device`; on the CPU a packed copy of all matrices.
  /// Errors: those of read_step_head(), read_lm_config(), WeightFiles and load_weights(); Failure
  ///         E705 if the folder lacks the tensors of its head.
  static StepScorer open(const fs::path& folder, Device device = {},
                         ResidentModels* resident = nullptr);

  const LmConfig& config() const { return model_.config(); }
  const StepHead& head() const { return head_; }

  /// Returns the probability of each step of each sequence. A pass takes up to
  /// PassSizes::prefill_tokens tokens of the sequences, or one longer sequence.
  ///
  /// Ranks:  local
  /// Shapes: each sequence has at least one step; returns [sequences.size()][steps]
  /// Errors: ShapeError when an id is not in the vocabulary, or a sequence has no steps or is
  ///         longer than the learned positions.
  std::vector<std::vector<double>> score(std::span<const SteppedSequence> sequences) const;

private:
  StepScorer(const StepHead& head, LanguageModel model, const at::Tensor& weight,
             const at::Tensor& bias);

  void score_pass(std::span<const SteppedSequence> sequences,
                  std::vector<std::vector<double>>& scores) const;
  double probability(const float* state) const;

  StepHead head_;
  LanguageModel model_;
  std::vector<double> weight_;  // [outputs, width of the model]
  std::vector<double> bias_;    // [outputs]
};

}  // namespace mgpu::lm
