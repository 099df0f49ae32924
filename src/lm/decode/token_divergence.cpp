#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/token_divergence.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "changed_logits.hpp"
#include "divergence_sums.hpp"
#include "lm/forward/row_ops.hpp"
#include "online_logits.hpp"

namespace mgpu::lm {
namespace {

/// Replaces `rows`, the sums over this rank's part of the vocabulary, by the sums over the whole
/// vocabulary. The sums of the ranks are added in the order of the ranks.
void combine_ranks(const LanguageModel& model, std::vector<DivergenceSums>& rows,
                   const at::Tensor& like) {
  if (!model.shard().is_tensor_parallel || rows.empty()) return;
  const auto count = static_cast<std::int64_t>(rows.size());
  const at::Tensor mine =
      at::from_blob(rows.data(), {count, kDivergenceSums}, at::kDouble).clone().to(like.device());
  const at::Tensor all = tensor::read_back(
      gather_bits(*model.peers(), mine.view(at::kInt)).contiguous().view(at::kDouble));
  const auto* of_ranks = reinterpret_cast<const DivergenceSums*>(all.const_data_ptr<double>());
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

std::vector<double> token_divergence(const ModelStates& p, const ModelStates& q, double temperature,
                                     const CandidateOffsets& offsets) {
  const at::NoGradGuard no_grad;
  check_shapes(p, q);
  std::vector<DivergenceSums> rows(static_cast<std::size_t>(p.hidden.size(0)));
  for_each_piece(p.model, p.hidden, [&](const LogitsPiece& piece) {
    const std::int64_t first = piece.first_id - p.model.shard().vocab.begin;
    const std::int64_t count = piece.logits.size(1);
    const at::Tensor x = q.hidden.narrow(0, piece.row, piece.logits.size(0));
    const at::Tensor others = project(x, part_of(q.model.weights().head, first, count));
    const std::span<DivergenceSums> of_piece = std::span(rows).subspan(
        static_cast<std::size_t>(piece.row), static_cast<std::size_t>(piece.logits.size(0)));
    const auto add = tensor::runs_on_gpu(others) ? add_by_tensors : add_by_rows;
    const at::Tensor mine = offsets.values.defined() ? piece.logits.clone() : piece.logits;
    if (offsets.values.defined()) add_offsets(offsets, {mine, piece.row, piece.first_id});
    add(mine.contiguous(), others.contiguous(), temperature, of_piece);
  });
  combine_ranks(p.model, rows, p.hidden);
  std::vector<double> divergences;
  for (const DivergenceSums& row : rows)
    divergences.push_back(row.divergence());
  return divergences;
}

}  // namespace mgpu::lm
