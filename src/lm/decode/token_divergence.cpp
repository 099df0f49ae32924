#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/token_divergence.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "lm/forward/row_ops.hpp"
#include "online_logits.hpp"

namespace mgpu::lm {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kSums = 5;  // values of a row in OnlineDivergence

/// The sums of one token over the blocks of the vocabulary so far.
struct RowSums {
  double top = kNone;            // largest logit of the model
  double sum = 0.0;              // of exp(logit - top)
  double gap = 0.0;              // of exp(logit - top) (logit - logit of the reference)
  double reference_top = kNone;  // largest logit of the reference
  double reference_sum = 0.0;

  /// Adds a block of logits, which are divided by the temperature here.
  void add(std::span<const float> of_model, std::span<const float> of_reference,
           double temperature) {
    rebase(*std::ranges::max_element(of_model) / temperature,
           *std::ranges::max_element(of_reference) / temperature);
    for (std::size_t i = 0; i < of_model.size(); ++i) {
      const double logit = of_model[i] / temperature;
      const double other = of_reference[i] / temperature;
      const double weight = std::exp(logit - top);
      sum += weight;
      gap += weight * (logit - other);
      reference_sum += std::exp(other - reference_top);
    }
  }

  void add(const RowSums& other) {
    const double share = std::exp(other.top - std::max(top, other.top));
    const double reference_share =
        std::exp(other.reference_top - std::max(reference_top, other.reference_top));
    rebase(other.top, other.reference_top);
    sum += other.sum * share;
    gap += other.gap * share;
    reference_sum += other.reference_sum * reference_share;
  }

  double divergence() const {
    const double log_sum = top + std::log(sum);
    const double reference_log_sum = reference_top + std::log(reference_sum);
    const double value = gap / sum + (reference_log_sum - log_sum);
    return value < 0.0 ? 0.0 : value;  // rounding can give -1e-17; NaN stays
  }

private:
  void rebase(double new_top, double new_reference_top) {
    if (new_top > top) {
      sum *= std::exp(top - new_top);
      gap *= std::exp(top - new_top);
      top = new_top;
    }
    if (new_reference_top > reference_top) {
      reference_sum *= std::exp(reference_top - new_reference_top);
      reference_top = new_reference_top;
    }
  }
};

static_assert(sizeof(RowSums) == kSums * sizeof(double));

std::span<const float> row_of(const at::Tensor& logits, std::int64_t row) {
  const auto width = static_cast<std::size_t>(logits.size(1));
  return {logits.const_data_ptr<float>() + static_cast<std::size_t>(row) * width, width};
}

/// Adds a block of logits [n, B] in the memory of the CPU.
void add_on_cpu(const at::Tensor& of_model, const at::Tensor& of_reference, double temperature,
                std::span<RowSums> rows) {
  for (std::size_t n = 0; n < rows.size(); ++n) {
    const auto row = static_cast<std::int64_t>(n);
    rows[n].add(row_of(of_model, row), row_of(of_reference, row), temperature);
  }
}

/// Adds a block of logits [n, B] on a GPU.
void add_on_gpu(const at::Tensor& of_model, const at::Tensor& of_reference, double temperature,
                std::span<RowSums> rows) {
  const at::Tensor logits = of_model.to(at::kDouble) / temperature;
  const at::Tensor others = of_reference.to(at::kDouble) / temperature;
  const at::Tensor top = logits.amax(1, /*keepdim=*/true);
  const at::Tensor other_top = others.amax(1, /*keepdim=*/true);
  const at::Tensor weights = (logits - top).exp();
  const at::Tensor columns = tensor::read_back(
      at::cat({top, weights.sum(1, true), (weights * (logits - others)).sum(1, true), other_top,
               (others - other_top).exp().sum(1, true)},
              1));  // [n, kSums]
  const double* value = columns.const_data_ptr<double>();
  for (RowSums& row : rows) {
    row.add(RowSums{value[0], value[1], value[2], value[3], value[4]});
    value += kSums;
  }
}

/// Adds up the sums of all ranks that hold a part of the vocabulary, in the order of the ranks.
void combine_ranks(const LanguageModel& model, std::vector<RowSums>& rows, const at::Tensor& like) {
  if (!model.shard().is_tensor_parallel || rows.empty()) return;
  const auto count = static_cast<std::int64_t>(rows.size());
  const at::Tensor mine =
      at::from_blob(rows.data(), {count, kSums}, at::kDouble).clone().to(like.device());
  const at::Tensor all = tensor::read_back(
      gather_bits(*model.peers(), mine.view(at::kInt)).contiguous().view(at::kDouble));
  const auto* of_ranks = reinterpret_cast<const RowSums*>(all.const_data_ptr<double>());
  for (std::size_t n = 0; n < rows.size(); ++n) {
    rows[n] = of_ranks[n];
    for (int rank = 1; rank < model.peers()->size(); ++rank)
      rows[n].add(of_ranks[static_cast<std::size_t>(rank) * rows.size() + n]);
  }
}

void check_shapes(const ModelStates& p, const ModelStates& q) {
  if (p.model.config().vocab != q.model.config().vocab)
    throw ShapeError("token_divergence: the models have different vocabularies");
  if (p.model.shard().vocab != q.model.shard().vocab)
    throw ShapeError("token_divergence: this rank has different parts of the vocabularies");
  if (p.hidden.size(0) != q.hidden.size(0))
    throw ShapeError("token_divergence: not the same number of tokens");
}

}  // namespace

std::vector<double> token_divergence(const ModelStates& p, const ModelStates& q,
                                     double temperature) {
  const at::NoGradGuard no_grad;
  check_shapes(p, q);
  std::vector<RowSums> rows(static_cast<std::size_t>(p.hidden.size(0)));
  for_each_piece(p.model, p.hidden, [&](const LogitsPiece& piece) {
    const std::int64_t first = piece.first_id - p.model.shard().vocab.begin;
    const std::int64_t count = piece.logits.size(1);
    const at::Tensor x = q.hidden.narrow(0, piece.row, piece.logits.size(0));
    const at::Tensor others = project(x, part_of(q.model.weights().head, first, count));
    const std::span<RowSums> of_piece = std::span(rows).subspan(
        static_cast<std::size_t>(piece.row), static_cast<std::size_t>(piece.logits.size(0)));
    const auto add = tensor::runs_on_gpu(others) ? add_on_gpu : add_on_cpu;
    add(piece.logits.contiguous(), others.contiguous(), temperature, of_piece);
  });
  combine_ranks(p.model, rows, p.hidden);
  std::vector<double> divergences;
  for (const RowSums& row : rows)
    divergences.push_back(row.divergence());
  return divergences;
}

}  // namespace mgpu::lm
