#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/realignment.hpp>
#include <mgpu/tensor/device_stream.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "group_failure.hpp"
#include "lm/forward/layer_pass.hpp"
#include "lm/forward/row_ops.hpp"
#include "online_logits.hpp"

namespace mgpu::lm {
namespace {

constexpr double kSmallestNorm = 1e-6;  // smallest divisor in scale_rows()

/// Makes libtorch compute on one thread while the object exists. Otherwise the bits of a sum might
/// depend on the number of threads.
class OneThread {
public:
  OneThread() : threads_(at::get_num_threads()) { at::set_num_threads(1); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  OneThread(OneThread&&) = delete;
  OneThread& operator=(OneThread&&) = delete;
  ~OneThread() { at::set_num_threads(threads_); }

private:
  int threads_;
};

/// Returns rows first .. first + count - 1 of a linear layer's matrix, [count, in]. `first` must be
/// a multiple of kernels::cpu::panel_width().
at::Tensor linear_rows(const Linear& linear, std::int64_t first, std::int64_t count) {
  const Linear part = part_of(linear, first, count);
  if (part.weight.defined()) return part.weight;
  const at::Tensor rows = part.panels.transpose(1, 2).reshape({-1, part.panels.size(1)});
  return rows.narrow(0, 0, count);
}

/// Rows of W_out (the vocabulary head) and of W_in (the embedding), [count, D] each.
struct VocabularyRows {
  at::Tensor out;
  at::Tensor in;
};

/// Returns rows first .. first + count - 1 of this rank's part of the vocabulary. In a pipeline of
/// several ranks, only the first rank has the embedding, and only the last rank has the head. In
/// this case, the function is collective: an all-reduce gives all ranks the rows of both matrices.
VocabularyRows vocabulary_rows(const LanguageModel& model, std::int64_t first, std::int64_t count) {
  const LmWeights& weights = model.weights();
  const Shard& shard = model.shard();
  const bool has_both = shard.has_embedding && shard.has_head;
  if (has_both && (model.peers() == nullptr || shard.is_tensor_parallel))
    return {linear_rows(weights.head, first, count), weights.embedding.narrow(0, first, count)};
  const at::Tensor both =
      at::zeros({2, count, model.config().hidden_size}, options_of(weights));  // float32
  if (shard.has_head) both[0].copy_(linear_rows(weights.head, first, count));
  if (shard.has_embedding) both[1].copy_(weights.embedding.narrow(0, first, count));
  model.peers()->all_reduce(both);
  return {both[0], both[1]};
}

/// Sums over the rows of W_out (the vocabulary head) and W_in (the embedding). All sums are in one
/// tensor, so that one all-reduce suffices.
struct NormalSums {
  explicit NormalSums(const LanguageModel& model)
      : width(model.config().hidden_size),
        all(at::zeros({2 * width + 1, width}, options_of(model.weights()).dtype(at::kDouble))) {}

  at::Tensor outer() const { return all.narrow(0, 0, width); }      // [D, D] W_out^T W_out
  at::Tensor cross() const { return all.narrow(0, width, width); }  // [D, D] W_out^T W_in
  at::Tensor norms() const { return all[2 * width][0]; }            // sum of the row norms of W_in

  void add(const VocabularyRows& rows) const {
    const at::Tensor out = rows.out.to(at::kDouble);
    const at::Tensor in = rows.in.to(at::kDouble);
    outer().addmm_(out.t(), out);
    cross().addmm_(out.t(), in);
    norms().add_(in.square().sum(1).sqrt().sum());
  }

  std::int64_t width;
  at::Tensor all;
};

/// Returns the sums over the whole vocabulary.
/// Ranks: collective over the ranks of the model
NormalSums sums_of(const LanguageModel& model) {
  std::optional<NormalSums> sums;
  run_on_all_or_fail(model.peers(), [&] { sums.emplace(model); });
  const std::int64_t held = model.shard().vocab.size();
  for (std::int64_t first = 0; first < held; first += kVocabularyBlock)
    sums->add(vocabulary_rows(model, first, std::min(kVocabularyBlock, held - first)));
  if (model.shard().is_tensor_parallel) model.peers()->all_reduce(sums->all);
  return std::move(*sums);
}

/// Returns A = (outer + ridge I)^-1 cross, [D, D] float32 in host memory.
at::Tensor solved(const NormalSums& sums) {
  const at::Tensor outer = tensor::read_back(sums.outer()).clone();
  outer.diagonal().add_(Realignment::kRidge);
  const auto [factor, info] = at::linalg_cholesky_ex(outer);
  const at::Tensor matrix = at::cholesky_solve(tensor::read_back(sums.cross()), factor);
  const bool is_finite = tensor::read_value<bool>(matrix.isfinite().all());
  if (tensor::read_value<int>(info) != 0 || !is_finite)
    throw Failure({"E704",
                   ExitCode::numeric,
                   "the matrix that maps hidden states to embeddings is not finite",
                   {},
                   "look for numbers that are not finite in the weights of model.path, or scale "
                   "hidden states only: collect.latent.realign=false"});
  return matrix.to(at::kFloat).contiguous();
}

/// Scales each row of `rows`, [N, D] float32 on the CPU, to the given norm, in place.
void scale_rows(const at::Tensor& rows, double norm) {
  const std::int64_t width = rows.size(1);
  float* value = rows.mutable_data_ptr<float>();
  for (std::int64_t n = 0; n < rows.size(0); ++n, value += width) {
    double squares = 0.0;
    for (std::int64_t i = 0; i < width; ++i)
      squares += static_cast<double>(value[i]) * value[i];
    const auto factor = static_cast<float>(norm / std::max(std::sqrt(squares), kSmallestNorm));
    for (std::int64_t i = 0; i < width; ++i)
      value[i] *= factor;
  }
}

}  // namespace

Realignment Realignment::solve(const LanguageModel& model, bool is_on) {
  const at::NoGradGuard no_grad;
  const OneThread one_thread;
  const NormalSums sums = sums_of(model);
  std::optional<Realignment> result;
  run_on_all_or_fail(model.peers(), [&] {
    const double norms = tensor::read_value<double>(sums.norms());
    at::Tensor matrix = is_on ? solved(sums) : at::eye(sums.width, at::kFloat);
    result.emplace(Realignment(std::move(matrix), norms / static_cast<double>(model.config().vocab),
                               is_on, options_of(model.weights())));
  });
  return std::move(*result);
}

Realignment::Realignment(at::Tensor matrix, double mean_norm, bool is_on,
                         const at::TensorOptions& options)
    : matrix_(std::move(matrix)), mean_norm_(mean_norm) {
  if (!is_on) return;
  linear_.weight = matrix_.t().contiguous().to(options.device());
  const std::vector<std::int64_t> panels = panel_shape(linear_);
  if (panels.size() > 1) pack(linear_, at::empty(panels, options));
}

at::Tensor Realignment::embeddings(const at::Tensor& hidden) const {
  const at::NoGradGuard no_grad;
  const at::Tensor mapped = linear_.is_defined() ? project(hidden, linear_) : hidden.clone();
  if (tensor::runs_on_gpu(mapped))
    return mapped.mul_(mean_norm_ / mapped.norm(2, {1}, true).clamp_min(kSmallestNorm));
  scale_rows(mapped, mean_norm_);
  return mapped;
}

}  // namespace mgpu::lm
