#include "online_draw.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/kernels/online_draw.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/read_back.hpp>

namespace mgpu::lm {
namespace {

at::TensorOptions doubles_on(const at::Device& device) {
  return at::TensorOptions().dtype(at::kDouble).device(device);
}

using PieceStats = at::TensorAccessor<double, 3>;  // [R, N, 4] of R ranks: top, sum, token, logit

/// Returns the rank whose draw of row n is used. The probability of a rank is its share of the sum
/// of exp(score) over all ranks. `uniform` is a random number in [0, 1).
std::int64_t chosen_rank(const PieceStats& stats, std::int64_t n, double uniform) {
  double top = -std::numeric_limits<double>::infinity();
  for (std::int64_t r = 0; r < stats.size(0); ++r)
    top = std::max(top, stats[r][n][0]);
  std::vector<double> shares;
  double total = 0.0;
  for (std::int64_t r = 0; r < stats.size(0); ++r) {
    shares.push_back(stats[r][n][1] * std::exp(stats[r][n][0] - top));
    total += shares.back();
  }
  std::int64_t chosen = 0;
  double reached = 0.0;
  for (std::int64_t r = 0; r < stats.size(0) && reached <= uniform * total; ++r) {
    const double share = shares[static_cast<std::size_t>(r)];
    if (share > 0.0) chosen = r;
    reached += share;
  }
  return chosen;
}

}  // namespace

OnlineDraw::OnlineDraw(std::int64_t rows, const at::Device& device)
    : tops(at::full({rows}, -std::numeric_limits<double>::infinity(), doubles_on(device))),
      sums(at::zeros({rows}, doubles_on(device))),
      ids(at::full({rows}, -1, doubles_on(device).dtype(at::kLong))),
      picked(at::zeros({rows}, doubles_on(device).dtype(at::kFloat))) {}

void OnlineDraw::fold(const LogitsPiece& piece, const at::Tensor& scores,
                      const at::Tensor& uniforms) {
  const auto place = static_cast<std::size_t>(piece.row);
  kernels::OnlineDrawArgs args{};
  args.scores = scores.const_data_ptr<float>();
  args.logits = piece.logits.const_data_ptr<float>();
  args.uniforms = uniforms.const_data_ptr<double>();
  args.tops = tops.mutable_data_ptr<double>() + place;
  args.sums = sums.mutable_data_ptr<double>() + place;
  args.ids = ids.mutable_data_ptr<std::int64_t>() + place;
  args.picked = picked.mutable_data_ptr<float>() + place;
  args.rows = static_cast<std::size_t>(piece.logits.size(0));
  args.block = static_cast<std::size_t>(piece.logits.size(1));
  args.first_id = piece.first_id;
  if (tensor::runs_on_gpu(piece.logits))
    kernels::cuda::online_draw(args, tensor::current_stream(piece.logits));
  else
    kernels::cpu::online_draw(args);
}

void OnlineDraw::combine(const LanguageModel& model, const at::Tensor& uniforms) {
  const at::Tensor mine = at::stack({tops, sums, ids.to(at::kDouble), picked.to(at::kDouble)}, 1);
  const at::Tensor all = tensor::read_back(gather_bits(*model.peers(), mine.view(at::kInt)))
                             .view(at::kDouble);  // [R, N, 4]
  const PieceStats stats = all.accessor<double, 3>();
  const at::Tensor ids_here = at::empty({ids.numel()}, at::kLong);
  const at::Tensor picked_here = at::empty({ids.numel()}, at::kFloat);
  for (std::int64_t n = 0; n < ids.numel(); ++n) {
    const std::int64_t r = chosen_rank(stats, n, uniforms.const_data_ptr<double>()[n]);
    ids_here.mutable_data_ptr<std::int64_t>()[n] = static_cast<std::int64_t>(stats[r][n][2]);
    picked_here.mutable_data_ptr<float>()[n] = static_cast<float>(stats[r][n][3]);
  }
  ids.copy_(ids_here);
  picked.copy_(picked_here);
}

}  // namespace mgpu::lm
