#include <algorithm>
#include <cmath>
#include <limits>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/fold_logits.hpp>
#include <mgpu/language/language_model.hpp>
#include <mgpu/model/device_stream.hpp>

#include "row_ops.hpp"

namespace mgpu::language {
namespace {

constexpr std::int64_t kVocabularyBlock = 4096;
constexpr std::int64_t kTokenBlock = 256;

/// Running values of all rows.
struct Folded {
  at::Tensor tops;         // [N]
  at::Tensor sums;         // [N]
  at::Tensor picked;       // [N]
  at::Tensor best_logits;  // [N, K]
  at::Tensor best_ids;     // [N, K]

  Folded(std::int64_t rows, std::int64_t best, const at::TensorOptions& options)
      : tops(at::full({rows}, -std::numeric_limits<double>::infinity(), options)),
        sums(at::zeros({rows}, options)),
        picked(at::full({rows}, std::numeric_limits<double>::quiet_NaN(), options)),
        best_logits(at::full({rows, best}, -std::numeric_limits<double>::infinity(), options)),
        best_ids(at::full({rows, best}, -1, options.dtype(at::kLong))) {}
};

/// Logits [n, B] of rows row .. row + n - 1 and tokens from `first_id` on.
void fold(const at::Tensor& logits, std::int64_t row, std::int64_t first_id,
          const at::Tensor& targets, const Folded& into) {
  const auto place = static_cast<std::size_t>(row);
  kernels::FoldLogitsArgs args{};
  args.logits = logits.const_data_ptr<float>();
  if (targets.defined()) args.targets = targets.const_data_ptr<std::int64_t>() + place;
  args.tops = into.tops.mutable_data_ptr<float>() + place;
  args.sums = into.sums.mutable_data_ptr<float>() + place;
  args.picked = into.picked.mutable_data_ptr<float>() + place;
  args.rows = static_cast<std::size_t>(logits.size(0));
  args.block = static_cast<std::size_t>(logits.size(1));
  args.best = static_cast<std::size_t>(into.best_ids.size(1));
  args.best_logits = into.best_logits.mutable_data_ptr<float>() + place * args.best;
  args.best_ids = into.best_ids.mutable_data_ptr<std::int64_t>() + place * args.best;
  args.first_id = first_id;
  if (logits.is_cuda())
    kernels::cuda::fold_logits(args, model::current_stream(logits));
  else
    kernels::cpu::fold_logits(args);
}

/// tops + log(sums). One by one on the CPU: a vectorized log may round the last few otherwise.
at::Tensor log_sums_of(const Folded& folded) {
  if (!folded.sums.is_cpu()) return folded.tops + folded.sums.log();
  at::Tensor result = at::empty_like(folded.sums);
  const float* tops = folded.tops.const_data_ptr<float>();
  const float* sums = folded.sums.const_data_ptr<float>();
  float* out = result.mutable_data_ptr<float>();
  for (std::int64_t n = 0; n < result.numel(); ++n)
    out[n] = tops[n] + std::log(sums[n]);
  return result;
}

}  // namespace

HeadResult apply_head(const LanguageModel& model, const at::Tensor& hidden,
                      const at::Tensor& targets, std::int64_t best) {
  const at::NoGradGuard no_grad;
  const LmConfig& config = model.config();
  if (hidden.dim() != 2 || hidden.size(1) != config.width)
    throw ShapeError("apply_head: hidden states of another width");
  if (targets.defined() && (targets.dim() != 1 || targets.size(0) != hidden.size(0)))
    throw ShapeError("apply_head: not one target per hidden state");
  if (best < 0 || best > config.vocab) throw ShapeError("apply_head: more best than tokens");
  const at::Tensor aims = targets.defined() ? targets.contiguous() : targets;
  const Folded folded(hidden.size(0), best, hidden.options());
  for (std::int64_t row = 0; row < hidden.size(0); row += kTokenBlock) {
    const at::Tensor x = hidden.narrow(0, row, std::min(kTokenBlock, hidden.size(0) - row));
    for (std::int64_t id = 0; id < config.vocab; id += kVocabularyBlock) {
      const std::int64_t count = std::min(kVocabularyBlock, config.vocab - id);
      fold(project(x, {model.weights().head.narrow(0, id, count), {}}), row, id, aims, folded);
    }
  }
  HeadResult result;
  result.log_sums = log_sums_of(folded);
  if (targets.defined()) result.log_probs = folded.picked - result.log_sums;
  result.best_ids = folded.best_ids;
  result.best_logits = folded.best_logits;
  return result;
}

}  // namespace mgpu::language
