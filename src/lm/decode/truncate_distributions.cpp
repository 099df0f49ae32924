#include "truncate_distributions.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/online_logsumexp.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "best_tokens.hpp"
#include "offset_divergence.hpp"
#include "top_k_top_p.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kFirstBest = 64;  // number of best tokens in the first attempt with top p;
                                         // most rows need no more
constexpr auto kMaxBest = static_cast<std::int64_t>(kernels::kMaxBest);

std::vector<ScoredToken> scored(const at::Tensor& ids, const at::Tensor& logits, std::int64_t n) {
  const std::int64_t best = ids.size(1);
  const std::int64_t* id = ids.const_data_ptr<std::int64_t>() + n * best;
  const float* logit = logits.const_data_ptr<float>() + n * best;
  std::vector<ScoredToken> result;
  for (std::int64_t k = 0; k < best && id[k] >= 0; ++k)
    result.push_back({id[k], logit[k]});
  return result;
}

/// Returns `best` on the host, after a single host read of one float64 tensor. float64 holds all
/// ids and float32 numbers exactly.
BestTokens read_back(const BestTokens& best) {
  const at::Tensor parts[] = {best.log_sums, best.log_totals, best.ids,
                              best.logits,   best.log_probs,  best.divergences};
  std::vector<at::Tensor> exact;
  for (const at::Tensor& part : parts)
    exact.push_back(part.to(at::kDouble).flatten());
  const at::Tensor all = tensor::read_back(at::cat(exact));
  std::int64_t place = 0;
  const auto next = [&](const at::Tensor& like) {
    const at::Tensor values = all.narrow(0, place, like.numel()).view(like.sizes());
    place += like.numel();
    return values.to(like.scalar_type());
  };
  BestTokens host;
  at::Tensor* fields[] = {&host.log_sums, &host.log_totals, &host.ids,
                          &host.logits,   &host.log_probs,  &host.divergences};
  for (std::size_t i = 0; i < std::size(fields); ++i)
    *fields[i] = next(parts[i]);
  return host;
}

/// Returns the candidates of each row among its `best` most probable tokens, after top k and top p.
/// A row whose nucleus has more than `best` tokens gets no value.
std::vector<std::optional<TruncatedDistribution>> truncate_with_best(const SampledRows& rows,
                                                                     const SamplingConfig& config,
                                                                     std::int64_t best) {
  const BestTokens host = read_back(best_tokens(rows, config, best));
  check_sums(rows, host.log_sums);
  std::vector<std::optional<TruncatedDistribution>> result;
  for (std::int64_t n = 0; n < rows.hidden.size(0); ++n) {
    std::optional<double> total;
    if (needs_total(config)) total = host.log_totals.const_data_ptr<float>()[n];
    auto candidates = top_k_top_p(scored(host.ids, host.logits, n), config, total);
    if (!candidates) {
      result.push_back(std::nullopt);
      continue;
    }
    TruncatedDistribution row{std::move(*candidates), {}};
    if (host.log_probs.numel() > 0) {
      const float* log_probs = host.log_probs.const_data_ptr<float>() + n * host.ids.size(1);
      row.log_probs.assign(log_probs, log_probs + row.candidates.size());
    }
    if (host.divergences.numel() > 0) row.divergence = host.divergences.const_data_ptr<double>()[n];
    result.push_back(std::move(row));
  }
  return result;
}

/// The logits of a row for the whole vocabulary.
struct WholeRow {
  at::Tensor logits;        // one per token of the vocabulary, on the CPU
  double divergence = 0.0;  // KL due to the offsets; see DrawnToken::divergence
};

/// Returns all logits of the only row of `rows`, after penalty, processors and offsets, with a
/// single host read.
/// Ranks: collective over the ranks of a tensor-parallel model
WholeRow whole_row(const SampledRows& rows, const SamplingConfig& config) {
  const std::int64_t vocab = rows.model.config().vocab;
  const at::Tensor row = at::zeros({vocab}, rows.hidden.options());
  OffsetDivergence divergence(rows, config);
  for_each_piece(rows.model, rows.hidden, [&](const LogitsPiece& raw) {
    const at::Tensor logits = changed(raw, rows, config).logits[0];
    row.narrow(0, raw.first_id, logits.size(0)).copy_(logits);
    divergence.fold(raw);
  });
  if (rows.model.shard().is_tensor_parallel)
    rows.model.peers()->all_reduce_if_all_can(row.view(at::kInt));
  const at::Tensor found = divergence.result();
  if (!found.defined()) return {tensor::read_back(row)};
  const at::Tensor all = tensor::read_back(at::cat({row, found.view(at::kFloat)}));
  const at::Tensor last = all.narrow(0, vocab, 2).clone().view(at::kDouble);
  return {all.narrow(0, 0, vocab), last.const_data_ptr<double>()[0]};
}

/// Returns the candidates of the only row of `rows`, chosen from the whole vocabulary.
TruncatedDistribution truncate_whole(const SampledRows& rows, const SamplingConfig& config) {
  const WholeRow row = whole_row(rows, config);
  std::vector<ScoredToken> tokens;
  for (std::int64_t id = 0; id < row.logits.size(0); ++id) {
    const float logit = row.logits.const_data_ptr<float>()[id];
    if (std::isnan(logit) || logit == INFINITY) refuse_row(rows.sites.front());
    tokens.push_back({id, logit});
  }
  std::sort(tokens.begin(), tokens.end(), is_better);
  if (tokens.front().logit == -INFINITY) refuse_row(rows.sites.front());
  return {*top_k_top_p(tokens, config, std::nullopt), {}, row.divergence};
}

/// Returns how many best tokens each attempt considers, in the order of the attempts; empty: there
/// are no attempts. A row for which every attempt fails is processed with the whole vocabulary.
std::vector<std::int64_t> best_to_try(const SamplingConfig& config, std::int64_t vocab) {
  if (config.top_k > kMaxBest || (config.top_k == 0 && config.top_p == 1.0)) return {};
  if (config.top_k > 0) return {std::min(config.top_k, vocab)};
  if (vocab <= kFirstBest) return {vocab};
  return {kFirstBest, std::min(kMaxBest, vocab)};
}

}  // namespace

void refuse_row(const DrawSite& site) {
  throw Failure(
      {"E704",
       ExitCode::numeric,
       "the logits of the model are not finite",
       {"  sample " + std::to_string(site.sample) + ", token " + std::to_string(site.position)},
       ""});
}

void check_sums(const SampledRows& rows, const at::Tensor& log_sums) {
  for (std::int64_t n = 0; n < log_sums.numel(); ++n)
    if (!std::isfinite(log_sums.const_data_ptr<float>()[n]))
      refuse_row(rows.sites[static_cast<std::size_t>(n)]);
}

std::vector<TruncatedDistribution> truncate_distributions(const SampledRows& rows,
                                                          const SamplingConfig& config) {
  const auto count = static_cast<std::size_t>(rows.hidden.size(0));
  std::vector<TruncatedDistribution> result(count);
  std::vector<std::int64_t> open(count);
  for (std::size_t n = 0; n < count; ++n)
    open[n] = static_cast<std::int64_t>(n);
  const auto part = [&](const std::vector<std::int64_t>& numbers, std::vector<DrawSite>& sites) {
    for (const std::int64_t n : numbers)
      sites.push_back(rows.sites[static_cast<std::size_t>(n)]);
    const at::Tensor index = at::tensor(numbers, at::TensorOptions().dtype(at::kLong));
    return rows.hidden.index_select(0, index.to(rows.hidden.device()));
  };
  for (const std::int64_t best : best_to_try(config, rows.model.config().vocab)) {
    if (open.empty()) break;
    std::vector<DrawSite> sites;
    const at::Tensor hidden = part(open, sites);
    auto truncated = truncate_with_best(part_of(rows, hidden, sites, open), config, best);
    std::vector<std::int64_t> left;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (truncated[i])
        result[static_cast<std::size_t>(open[i])] = std::move(*truncated[i]);
      else
        left.push_back(open[i]);
    }
    open = std::move(left);
  }
  for (const std::int64_t n : open) {
    std::vector<DrawSite> sites;
    const at::Tensor hidden = part({n}, sites);
    result[static_cast<std::size_t>(n)] = truncate_whole(part_of(rows, hidden, sites, {n}), config);
  }
  return result;
}

}  // namespace mgpu::lm
