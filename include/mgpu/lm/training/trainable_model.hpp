#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <mgpu/base/buffer_view.hpp>
#include <mgpu/base/phase_clock.hpp>
#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/lm/training/model_head.hpp>
#include <mgpu/lm/training/sequence_loss.hpp>
#include <mgpu/lm/training/token_loss.hpp>
#include <mgpu/tensor/compute_kind.hpp>
#include <mgpu/tensor/parameter_arena.hpp>

// Shapes in this header: N = tokens of all sequences of a batch.
namespace mgpu::lm {

struct TrainingOptions {
  /// The type to which both factors are converted in products of activations and weight matrices;
  /// f32 converts nothing. The weights themselves have the type `dtype`. All other computations use
  /// `dtype`, too; among them are the router of experts and ModelHead.
  tensor::ComputeKind compute = tensor::ComputeKind::f32;

  /// Activation checkpointing: the backward pass recomputes each layer instead of storing its
  /// activations.
  bool checkpoint_layers = false;

  /// If consecutive sequences of a group (LmBatch::groups) begin with the same tokens, a pass
  /// computes these tokens only once. Sequences that RopeKind::dynamic rotates differently share no
  /// tokens. In float32 on the CPU, sharing changes no bit of a loss or of the values of measure().
  /// Gradients change by rounding, because sharing changes the order in which terms are added.
  bool shares_prefixes = false;

  DType dtype = DType::f32;  // f64 for checks of gradients

  bool has_gradients = true;  // false: only forward passes; the gradients take no memory

  std::optional<ModelHead> head{};  // an additional linear layer on the hidden states
};

/// Returns the parameters that a TrainableModel trains, in the order of its ParameterArena. The
/// parameters of `head` come last. If `head` replaces the vocabulary head, there is no
/// lm_head.weight.
std::vector<tensor::ParameterSpec> trained_specs(const LmConfig& config,
                                                 const std::optional<ModelHead>& head);

/// A language model with trainable weights. Its forward pass is that of LanguageModel: in float32
/// on the CPU both give the same bits for a token's log-probability. Dropout settings of
/// config.json are ignored.
///
/// Memory: weights and gradients. A pass needs about 20 vectors of the model's width per token and
///         layer (1 with checkpoint_layers) and attention scores of up to 128 queries. It also
///         needs one block of logits (see head_blocks.hpp) instead of the matrix [N, vocabulary].
///         Stacked matrices (GPT-2's attention, gpt_oss's experts) need a second copy of their
///         gradients.
class TrainableModel {
public:
  /// Initializes the weights: matrices are random with standard deviation 0.02, norms are 1, biases
  /// and attention sinks are 0.
  /// Errors: Error when the family is unknown.
  TrainableModel(LmConfig config, Device device, std::uint64_t seed,
                 const TrainingOptions& options = {});

  /// Loads the weights of a folder. The parameters of TrainingOptions::head keep their values if
  /// the folder lacks them. Errors: those of load_weights().
  void load(const formats::WeightFiles& files);

  const LmConfig& config() const { return config_; }

  /// Returns a float32 model for sampling. The model refers to the current weights and must be
  /// destroyed before they change.
  ///
  /// Memory: on the CPU a packed copy of the matrices; on a GPU no copy.
  /// Errors: Error when the weights are float64, or the model has no vocabulary head.
  LanguageModel decoder() const;

  /// Returns a model with copies of the current weights, on the same device and without gradients.
  TrainableModel frozen_copy() const;

  tensor::ParameterArena& parameters() { return arena_; }
  const tensor::ParameterArena& parameters() const { return arena_; }

  /// Returns the sum of losses over a batch.
  ///
  /// Errors: Error when the loss needs a head that the model lacks. ShapeError in these cases:
  ///         - An id or a target is not in the vocabulary.
  ///         - Targets or columns have a wrong length.
  ///         - A sequence is longer than the learned positions.
  ///         - A sequence has no tokens, and the loss uses HeadRows::last.
  ///         - TokenLoss::check() rejects the batch.
  LmSums loss(const LmBatch& batch, const TokenLoss& loss = CrossEntropy()) const;

  /// Runs the first sweep of a SequenceLoss: a forward pass without gradients. Returns the values
  /// that `request` selects. Errors: those of loss().
  TokenValues measure(const LmBatch& batch, const ValueRequest& request) const;

  /// Optional settings of add_gradients().
  struct PassOptions {
    double grad_scale = 1.0;
    /// Counts the time of each part of the pass under one of these names: TokenLoss::phase(),
    /// "forward", "backward". The vocabulary head and ModelHead count as "backward". nullptr: the
    /// time is not counted.
    PhaseClock* clock = nullptr;
    const TokenLoss* loss = nullptr;  // nullptr: cross-entropy
  };

  /// Adds the gradient of grad_scale * loss() to the gradients in parameters(). Returns the sums
  /// that loss() returns. Errors: those of loss().
  LmSums add_gradients(const LmBatch& batch, const PassOptions& pass);
  LmSums add_gradients(const LmBatch& batch, double grad_scale, PhaseClock* clock = nullptr) {
    return add_gradients(batch, {grad_scale, clock, nullptr});
  }

private:
  struct Call;

  Call begin(const LmBatch& batch) const;
  void set_rows(const LmBatch& batch, Call& call) const;
  at::Tensor layer(const Call& call, std::size_t index, const at::Tensor& x) const;
  at::Tensor hidden(const Call& call) const;
  at::Tensor head_rows(const Call& call, HeadRows rows) const;
  void require_heads(bool logits, bool own) const;
  LmSums apply_heads(const Call& call, const at::Tensor& states, const PassLoss& loss,
                     std::optional<double> scale, at::Tensor* hidden_gradient) const;

  LmConfig config_;
  TrainingOptions options_;
  tensor::ParameterArena arena_;
  LmWeights weights_;  // views of the weights in arena_, made without autograd
  Linear head_;        // views of the ModelHead in arena_; undefined without TrainingOptions::head
};

}  // namespace mgpu::lm
