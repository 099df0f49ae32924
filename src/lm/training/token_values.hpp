#pragma once

#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/training/sequence_values.hpp>
#include <mgpu/lm/weights/lm_weights.hpp>

#include "grad_head.hpp"

// Shapes in this header: N tokens, D width.
namespace mgpu::lm::grad {

/// Returns the log-probabilities of all targets, at ValueRequest::temperature. If requested, also
/// returns the entropies at the same temperature, and the log-probabilities at temperature 1.
/// Values of tokens without a target are 0.
/// Memory: that of for_each_block().
TokenValues head_values(const HeadArgs& args, const ValueRequest& request);

/// Returns a BlockLoss for the loss sum_n slopes[n] * (log-probability of target n at
/// `temperature`). The BlockLoss computes only the gradient, and returns no sums.
///
/// Shapes: slopes [N]
BlockLoss weighted_log_probs(const std::vector<double>& slopes, double temperature);

/// Returns the outputs of ModelHead for the tokens `rows`, [rows, outputs].
///
/// Shapes: hidden [N, D]; rows int64, indices of tokens
at::Tensor own_outputs(const at::Tensor& hidden, const Linear& head, const at::Tensor& rows);

/// Backpropagates through own_outputs(). `outputs` is the gradient of the loss with respect to the
/// result of own_outputs(hidden, head, rows). Adds to the gradients of the head's parameters and to
/// `hidden_gradient`.
///
/// Shapes: hidden, hidden_gradient [N, D]; rows [R] int64; outputs [R, K] for K outputs of the head
void add_own_gradients(const at::Tensor& hidden, const Linear& head, const at::Tensor& rows,
                       const at::Tensor& outputs, const at::Tensor& hidden_gradient);

}  // namespace mgpu::lm::grad
