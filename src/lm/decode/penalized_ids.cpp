#include "penalized_ids.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/kernels/repetition_penalty.hpp>
#include <mgpu/tensor/device_stream.hpp>

namespace mgpu::lm {
namespace {

/// A set of token ids, one bit per token of the vocabulary.
class TokenBits {
public:
  explicit TokenBits(std::int64_t vocab)
      : vocab_(vocab), masks_(static_cast<std::size_t>(vocab + 63) / 64) {}

  /// Adds the ids, except unknown ids (-1) and ids outside the vocabulary.
  void add(std::span<const std::int64_t> ids) {
    for (const std::int64_t id : ids)
      if (id >= 0 && id < vocab_) masks_[static_cast<std::size_t>(id) / 64] |= bit_of(id);
  }

  /// Appends the ids of the set to `ids`, in ascending order, and empties the set.
  void move_to(std::vector<std::int64_t>& ids) {
    for (std::size_t w = 0; w < masks_.size(); ++w)
      for (; masks_[w] != 0; masks_[w] &= masks_[w] - 1)
        ids.push_back(static_cast<std::int64_t>(64 * w) + std::countr_zero(masks_[w]));
  }

private:
  static std::uint64_t bit_of(std::int64_t id) { return std::uint64_t{1} << (id % 64); }

  std::int64_t vocab_;
  std::vector<std::uint64_t> masks_;
};

}  // namespace

PenalizedIds penalized_ids(std::span<const DrawSite> sites, std::int64_t vocab,
                           const at::Device& device) {
  TokenBits tokens(vocab);
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> spans;
  for (const DrawSite& site : sites) {
    spans.push_back(std::ssize(ids));
    tokens.add(site.context);
    tokens.move_to(ids);
    spans.push_back(std::ssize(ids));
  }
  const std::int64_t count = std::ssize(ids);
  ids.insert(ids.end(), spans.begin(), spans.end());
  const at::Tensor both = at::tensor(ids, at::kLong).to(device);
  return {both.narrow(0, 0, count), both.narrow(0, count, std::ssize(spans)).view({-1, 2})};
}

void penalize(const PenalizedIds& penalized, const LogitsPiece& piece, double penalty) {
  kernels::RepetitionPenaltyArgs args{};
  args.logits = piece.logits.mutable_data_ptr<float>();
  args.ids = penalized.ids.const_data_ptr<std::int64_t>();
  args.spans = penalized.spans.const_data_ptr<std::int64_t>() + 2 * piece.row;
  args.rows = static_cast<std::size_t>(piece.logits.size(0));
  args.block = static_cast<std::size_t>(piece.logits.size(1));
  args.first_id = piece.first_id;
  args.penalty = static_cast<float>(penalty);
  if (tensor::runs_on_gpu(piece.logits))
    kernels::cuda::repetition_penalty(args, tensor::current_stream(piece.logits));
  else
    kernels::cpu::repetition_penalty(args);
}

}  // namespace mgpu::lm
