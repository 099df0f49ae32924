#include "folded_draw.hpp"

#include <limits>

#include <ATen/ATen.h>

#include <mgpu/kernels/stream_draw.hpp>
#include <mgpu/model/device_stream.hpp>

namespace mgpu::language {
namespace {

at::TensorOptions doubles_on(const at::Device& device) {
  return at::TensorOptions().dtype(at::kDouble).device(device);
}

}  // namespace

FoldedDraw::FoldedDraw(std::int64_t rows, const at::Device& device)
    : tops(at::full({rows}, -std::numeric_limits<double>::infinity(), doubles_on(device))),
      sums(at::zeros({rows}, doubles_on(device))),
      ids(at::full({rows}, -1, doubles_on(device).dtype(at::kLong))),
      picked(at::zeros({rows}, doubles_on(device).dtype(at::kFloat))) {}

void FoldedDraw::fold(const LogitsPiece& piece, const at::Tensor& scores,
                      const at::Tensor& uniforms) {
  const auto place = static_cast<std::size_t>(piece.row);
  const at::Tensor where = uniforms.to(tops.device());
  kernels::StreamDrawArgs args{};
  args.scores = scores.const_data_ptr<float>();
  args.logits = piece.logits.const_data_ptr<float>();
  args.uniforms = where.const_data_ptr<double>();
  args.tops = tops.mutable_data_ptr<double>() + place;
  args.sums = sums.mutable_data_ptr<double>() + place;
  args.ids = ids.mutable_data_ptr<std::int64_t>() + place;
  args.picked = picked.mutable_data_ptr<float>() + place;
  args.rows = static_cast<std::size_t>(piece.logits.size(0));
  args.block = static_cast<std::size_t>(piece.logits.size(1));
  args.first_id = piece.first_id;
  if (piece.logits.is_cuda())
    kernels::cuda::stream_draw(args, model::current_stream(piece.logits));
  else
    kernels::cpu::stream_draw(args);
}

}  // namespace mgpu::language
