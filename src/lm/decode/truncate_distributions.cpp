#include "truncate_distributions.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/online_logsumexp.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "top_k_top_p.hpp"

namespace mgpu::lm {
namespace {

constexpr std::int64_t kFirstBest = 64;  // best tokens of the first attempt; suffice for most rows
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

/// Returns the log-probabilities of the first `count` of a row's best tokens.
std::vector<float> log_probs_of(const std::vector<ScoredToken>& best, std::size_t count,
                                float log_sum) {
  std::vector<float> result;
  for (std::size_t k = 0; k < count; ++k)
    result.push_back(best[k].logit - log_sum);
  return result;
}

/// The results of two online softmaxes, one without and one with the temperature, in host memory.
struct HostSums {
  at::Tensor log_sums;    // [N] float32, without the temperature
  at::Tensor log_totals;  // [N] with the temperature; [0] if they are not needed
  at::Tensor ids;         // [N, K] int64
  at::Tensor logits;      // [N, K] float32
};

/// Reads both states back with one host read. float64 holds all ids and float32 numbers exactly.
HostSums read_sums(const OnlineLogits& folded, const OnlineLogits& tempered) {
  const at::Tensor parts[] = {folded.log_sums(), tempered.log_sums(), folded.best_ids,
                              folded.best_logits};
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
  return {next(parts[0]), next(parts[1]), next(parts[2]), next(parts[3])};
}

/// Applies top k and top p to the `best` most probable tokens of each row. A row whose nucleus has
/// more tokens gets no value.
std::vector<std::optional<TruncatedDistribution>> truncate_with_best(const SampledRows& rows,
                                                                     const SamplingConfig& config,
                                                                     std::int64_t best) {
  const std::int64_t count = rows.hidden.size(0);
  const bool needs_total = config.top_p < 1.0 && config.top_k == 0;
  OnlineLogits folded(count, best, rows.hidden.options());
  OnlineLogits tempered(needs_total ? count : 0, 0, rows.hidden.options());
  for_each_piece(rows.model, rows.hidden, [&](const LogitsPiece& raw) {
    const LogitsPiece piece = changed(raw, rows, config);
    folded.fold(piece, {});
    if (needs_total)
      tempered.fold({piece.logits / config.temperature, piece.row, piece.first_id}, {});
  });
  folded.combine(rows.model, {});
  tempered.combine(rows.model, {});
  const HostSums host = read_sums(folded, tempered);
  check_sums(rows, host.log_sums);
  std::vector<std::optional<TruncatedDistribution>> result;
  for (std::int64_t n = 0; n < count; ++n) {
    const std::vector<ScoredToken> tokens = scored(host.ids, host.logits, n);
    std::optional<double> total;
    if (needs_total) total = host.log_totals.const_data_ptr<float>()[n];
    auto candidates = top_k_top_p(tokens, config, total);
    if (!candidates) {
      result.push_back(std::nullopt);
      continue;
    }
    TruncatedDistribution row{std::move(*candidates), {}};
    if (!changes_logits(rows, config)) {
      const float log_sum = host.log_sums.const_data_ptr<float>()[n];
      row.log_probs = log_probs_of(tokens, row.candidates.size(), log_sum);
    }
    result.push_back(std::move(row));
  }
  return result;
}

/// Returns all logits of the only row of `rows`, [V] on the CPU.
at::Tensor whole_row(const SampledRows& rows, const SamplingConfig& config) {
  const at::Tensor row = at::zeros({rows.model.config().vocab}, rows.hidden.options());
  for_each_piece(rows.model, rows.hidden, [&](const LogitsPiece& raw) {
    const at::Tensor logits = changed(raw, rows, config).logits[0];
    row.narrow(0, raw.first_id, logits.size(0)).copy_(logits);
  });
  if (rows.model.shard().is_tensor_parallel)
    rows.model.peers()->all_reduce_if_all_can(row.view(at::kInt));
  return tensor::read_back(row);
}

/// Applies top k and top p to the only row of `rows`, with all its logits.
TruncatedDistribution truncate_whole(const SampledRows& rows, const SamplingConfig& config) {
  const at::Tensor row = whole_row(rows, config);
  std::vector<ScoredToken> tokens;
  for (std::int64_t id = 0; id < row.size(0); ++id) {
    const float logit = row.const_data_ptr<float>()[id];
    if (std::isnan(logit) || logit == INFINITY) refuse_row(rows.sites.front());
    tokens.push_back({id, logit});
  }
  std::sort(tokens.begin(), tokens.end(), is_better);
  return {*top_k_top_p(tokens, config, std::nullopt), {}};
}

/// Returns how many of the best tokens to try, one number per attempt. Rows for which all attempts
/// fail are processed with all their tokens.
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
