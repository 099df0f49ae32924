#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/base/phase_clock.hpp>
#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/lm/training/model_head.hpp>
#include <mgpu/lm/training/sequence_loss.hpp>
#include <mgpu/lm/training/token_loss.hpp>
#include <mgpu/tensor/compute_kind.hpp>
#include <mgpu/tensor/parameter_arena.hpp>

// Shapes in this header: N = tokens of all runs.
namespace mgpu::lm {

struct TrainingOptions {
  /// Of matrix products; weights, norms, softmax and loss stay float32.
  tensor::ComputeKind compute = tensor::ComputeKind::f32;

  /// Backward computes each layer again instead of keeping what it needs of it.
  bool checkpoint_layers = false;

  DType dtype = DType::f32;  // f64 for checks of gradients

  std::optional<ModelHead> head{};  // beside the vocabulary; nothing: none
};

/// A language model whose weights are trained. Its forward pass is that of LanguageModel: in
/// float32 on the CPU a token's log-probability has the same bits here and there. Dropout that
/// config.json may ask for is left out.
///
/// Memory: weights and gradients; of a pass, about 20 vectors of the model's width for each token
///         and layer (with checkpoint_layers 1), scores of 128 queries, and at most 64 MiB of
///         logits: [N, vocabulary] never exists. Where a family stacks matrices (GPT-2's attention,
///         gpt_oss's experts), a second copy of their gradients until the end of the pass.
class TrainableModel {
public:
  /// Random weights: matrices with standard deviation 0.02, norms 1, biases 0.
  /// Errors: Error when the family is unknown.
  TrainableModel(LmConfig config, Device device, std::uint64_t seed,
                 const TrainingOptions& options = {});

  /// Takes the weights of a folder. TrainingOptions::head keeps its values if the folder has none
  /// for it. Errors: as load_weights.
  void load(const formats::WeightFiles& files, const LoadOptions& options = {});

  const LmConfig& config() const { return config_; }

  /// The model as it is now, to draw tokens with: float32. It looks into this one's weights, and is
  /// to go before they change.
  ///
  /// Memory: on the CPU matrices are packed, a copy; elsewhere none.
  /// Errors: Error where the weights are float64, or there is no vocabulary head.
  LanguageModel decoder() const;
  tensor::ParameterArena& parameters() { return arena_; }
  const tensor::ParameterArena& parameters() const { return arena_; }

  /// Returns the sum of losses over a batch.
  ///
  /// Errors: ShapeError when an id or a target is not in the vocabulary, targets or columns do not
  ///         have one value per token, a sequence is longer than the learned positions, or the loss
  ///         refuses the batch; Error when the loss needs a head that the model does not have.
  LmSums loss(const LmBatch& batch, const TokenLoss& loss = CrossEntropy()) const;

  /// Computes the values that a SequenceLoss needs, forward only. Errors: as loss().
  TokenValues measure(const LmBatch& batch, const ValueRequest& request) const;

  /// What add_gradients() does beside that.
  struct PassOptions {
    double grad_scale = 1.0;
    PhaseClock* clock = nullptr;      // gets TokenLoss::phase(), forward and backward (with heads)
    const TokenLoss* loss = nullptr;  // nullptr: cross-entropy
  };

  /// Adds the gradient of grad_scale * loss() to the gradient arena. Errors: as loss().
  LmSums add_gradients(const LmBatch& batch, const PassOptions& pass);
  LmSums add_gradients(const LmBatch& batch, double grad_scale, PhaseClock* clock = nullptr) {
    return add_gradients(batch, {grad_scale, clock, nullptr});
  }

private:
  struct Call;

  Call begin(const LmBatch& batch) const;
  at::Tensor layer(const Call& call, std::size_t index, const at::Tensor& x) const;
  at::Tensor hidden(const Call& call) const;
  at::Tensor head_rows(const Call& call, HeadRows rows) const;
  void require_heads(bool logits, bool own) const;
  LmSums apply_heads(const Call& call, const at::Tensor& states, const PassLoss& loss,
                     std::optional<double> scale, at::Tensor* hidden_gradient) const;

  LmConfig config_;
  TrainingOptions options_;
  tensor::ParameterArena arena_;
  LmWeights weights_;  // views into the arena, made without autograd
  Linear head_;        // TrainingOptions::head, a part of the arena; undefined: none
};

}  // namespace mgpu::lm
