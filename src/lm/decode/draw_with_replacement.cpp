#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/draw_with_replacement.hpp>
#include <mgpu/lm/forward/language_model.hpp>
#include <mgpu/tensor/device_stream.hpp>

#include "online_logits.hpp"

namespace mgpu::lm {
namespace {

/// The draws from this rank's part of the vocabulary: M draws for each of N hidden states.
struct DrawsHere {
  at::Tensor log_sums;  // [N] float32, of the whole vocabulary
  at::Tensor uniforms;  // [N, M] float64
  at::Tensor reached;   // [N] float64, total probability of all tokens before the next piece
  at::Tensor ids;       // [N, M] int64; -1: not drawn from the tokens processed so far

  void walk(const LogitsPiece& piece) {
    const auto place = static_cast<std::size_t>(piece.row);
    kernels::DrawWithReplacementArgs args{};
    args.draws = static_cast<std::size_t>(ids.size(1));
    args.logits = piece.logits.const_data_ptr<float>();
    args.log_sums = log_sums.const_data_ptr<float>() + place;
    args.uniforms = uniforms.const_data_ptr<double>() + place * args.draws;
    args.reached = reached.mutable_data_ptr<double>() + place;
    args.ids = ids.mutable_data_ptr<std::int64_t>() + place * args.draws;
    args.rows = static_cast<std::size_t>(piece.logits.size(0));
    args.block = static_cast<std::size_t>(piece.logits.size(1));
    args.first_id = piece.first_id;
    if (tensor::runs_on_gpu(piece.logits))
      kernels::cuda::draw_with_replacement(args, tensor::current_stream(piece.logits));
    else
      kernels::cpu::draw_with_replacement(args);
  }
};

/// Returns the total probability of the tokens in the vocabulary parts of all lower ranks, [N]
/// float64.
at::Tensor share_before(const LanguageModel& model, const at::Tensor& log_sums_here,
                        const at::Tensor& log_sums) {
  const at::Tensor none = at::zeros(log_sums.sizes(), log_sums.options().dtype(at::kDouble));
  if (!model.shard().is_tensor_parallel) return none;
  const at::Tensor share = (log_sums_here - log_sums).exp();  // [N]
  const at::Tensor all = gather_bits(*model.peers(), share.view(at::kInt)).view(at::kFloat);
  return all.narrow(0, 0, model.peers()->rank()).to(at::kDouble).sum(0);
}

}  // namespace

DrawsWithReplacement draw_with_replacement(const LanguageModel& model, const at::Tensor& hidden,
                                           const at::Tensor& uniforms) {
  const at::NoGradGuard no_grad;
  if (hidden.dim() != 2 || hidden.size(1) != model.config().hidden_size)
    throw ShapeError("draw_with_replacement: hidden states of another width");
  if (uniforms.dim() != 2 || uniforms.size(0) != hidden.size(0))
    throw ShapeError("draw_with_replacement: not one row of uniforms per hidden state");
  OnlineLogits folded(hidden.size(0), 1, hidden.options());
  for_each_piece(model, hidden, [&](const LogitsPiece& piece) { folded.fold(piece, {}); });
  const at::Tensor log_sums_here = folded.log_sums();
  folded.combine(model, {});

  DrawsHere draws;
  draws.log_sums = folded.log_sums();
  draws.uniforms = uniforms.to(hidden.device()).contiguous();
  draws.reached = share_before(model, log_sums_here, draws.log_sums);
  draws.ids = at::full(uniforms.sizes(), -1, hidden.options().dtype(at::kLong));
  for_each_piece(model, hidden, [&](const LogitsPiece& piece) { draws.walk(piece); });
  at::Tensor ids = draws.ids;
  if (model.shard().is_tensor_parallel)
    ids = gather_bits(*model.peers(), ids.to(at::kInt)).amax(0).to(at::kLong);
  // If a draw got no token because of rounding, it gets the most probable token.
  return {draws.log_sums, at::where(ids < 0, folded.best_ids.expand_as(ids), ids)};
}

}  // namespace mgpu::lm
