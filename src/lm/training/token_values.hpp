#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/training/sequence_values.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

#include "grad_head.hpp"

// Shapes in this header: N tokens, D width.
namespace mgpu::lm::grad {

/// Computes log-probabilities, and entropies if requested, of all tokens that have a target.
/// Memory: as for_each_block().
TokenValues head_values(const HeadArgs& args, const ValueRequest& request);

/// Returns a function for the loss sum_n slopes[n] * (log-probability of target n at
/// `temperature`). The function computes the gradient only; its sums are 0.
///
/// Shapes: slopes [N]
BlockLoss weighted_log_probs(const std::vector<double>& slopes, double temperature);

/// Computes the outputs of ModelHead, [rows, outputs].
///
/// Shapes: hidden [N, D]; rows int64, indices of tokens
at::Tensor own_outputs(const at::Tensor& hidden, const Linear& head, const at::Tensor& rows);

/// Backpropagates `outputs`, the gradient with respect to own_outputs(), and adds the results to
/// the gradients of the head and to `hidden_gradient`.
///
/// Shapes: hidden_gradient [N, D]
void add_own_gradients(const at::Tensor& hidden, const Linear& head, const at::Tensor& rows,
                       const at::Tensor& outputs, const at::Tensor& hidden_gradient);

}  // namespace mgpu::lm::grad
