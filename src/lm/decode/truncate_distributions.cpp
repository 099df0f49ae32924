#include "truncate_distributions.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/kernels/online_logsumexp.hpp>
#include <mgpu/tensor/read_back.hpp>

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

/// Holds the results of one Attempt for N rows, with the K best tokens of each row.
/// Attempt::results() returns them on the device, and read_sums() copies them to the host.
struct HostSums {
  at::Tensor log_sums;    // [N] float32, logsumexp of the changed logits
  at::Tensor log_totals;  // [N] float32, logsumexp of changed logits / temperature; [0]: not needed
  at::Tensor ids;         // [N, K] int64
  at::Tensor logits;      // [N, K] float32
  at::Tensor log_probs;   // [N, K] float32, from the model's unchanged logits; [0]: unknown
  at::Tensor divergences;  // [N] float64; [0] without a candidate processor
};

/// Returns `sums` on the host, after a single host read of one float64 tensor. float64 holds all
/// ids and float32 numbers exactly.
HostSums read_sums(const HostSums& sums) {
  const at::Tensor parts[] = {sums.log_sums, sums.log_totals, sums.ids,
                              sums.logits,   sums.log_probs,  sums.divergences};
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
  HostSums host;
  at::Tensor* fields[] = {&host.log_sums, &host.log_totals, &host.ids,
                          &host.logits,   &host.log_probs,  &host.divergences};
  for (std::size_t i = 0; i < std::size(fields); ++i)
    *fields[i] = next(parts[i]);
  return host;
}

/// Returns the logits of the tokens in `best` without the offsets that some of these tokens got.
at::Tensor without_offsets(const CandidateOffsets& offsets, const OnlineLogits& best) {
  if (!offsets.values.defined()) return best.best_logits;
  const auto [ids, order] = offsets.ids.sort(1);  // [N, candidates]
  const at::Tensor places = at::searchsorted(ids, best.best_ids).clamp_max(ids.size(1) - 1);
  const at::Tensor is_candidate = ids.gather(1, places) == best.best_ids;
  return at::where(is_candidate, offsets.logits.gather(1, order.gather(1, places)),
                   best.best_logits);
}

/// One attempt to find the candidates of each row among its `best` most probable tokens. fold()
/// adds each piece of the logits to the members that are needed. The other members stay empty.
struct Attempt {
  OnlineLogits folded;          // sums over the changed logits, and the best tokens
  OnlineLogits tempered;        // sums over the changed logits, divided by the temperature
  OnlineLogits unchanged;       // sums over the model's logits, if only offsets change them
  OffsetDivergence divergence;  // KL divergence that the offsets cause

  Attempt(const SampledRows& rows, const SamplingConfig& config, std::int64_t best)
      : folded(rows.hidden.size(0), best, rows.hidden.options()),
        tempered(needs_total(config) ? rows.hidden.size(0) : 0, 0, rows.hidden.options()),
        unchanged(has_only_offsets(rows, config) ? rows.hidden.size(0) : 0, 0,
                  rows.hidden.options()),
        divergence(rows, config) {}

  static bool needs_total(const SamplingConfig& config) {
    return config.top_p < 1.0 && config.top_k == 0;
  }
  static bool has_only_offsets(const SampledRows& rows, const SamplingConfig& config) {
    return rows.offsets.values.defined() && !changes_before_offsets(rows, config);
  }

  void fold(const LogitsPiece& raw, const SampledRows& rows, const SamplingConfig& config) {
    const LogitsPiece piece = changed(raw, rows, config);
    folded.fold(piece, {});
    if (needs_total(config))
      tempered.fold({piece.logits / config.temperature, piece.row, piece.first_id}, {});
    if (has_only_offsets(rows, config)) unchanged.fold(raw, {});
    divergence.fold(raw);
  }

  /// Merges the sums of all ranks, and returns the results for the whole vocabulary on the device.
  ///
  /// Ranks: collective over the ranks of a tensor-parallel model
  HostSums results(const SampledRows& rows, const SamplingConfig& config) {
    for (OnlineLogits* sums : {&folded, &tempered, &unchanged})
      sums->combine(rows.model, {});
    HostSums sums{folded.log_sums(),  tempered.log_sums(),          folded.best_ids,
                  folded.best_logits, tempered.sums.new_empty({0}), divergence.result()};
    if (!changes_before_offsets(rows, config)) {
      const at::Tensor log_sums =
          rows.offsets.values.defined() ? unchanged.log_sums() : sums.log_sums;
      sums.log_probs = without_offsets(rows.offsets, folded) - log_sums.unsqueeze(1);
    }
    if (!sums.divergences.defined()) sums.divergences = tempered.sums.new_empty({0});
    return sums;
  }
};

/// Returns the candidates of each row among its `best` most probable tokens, after top k and top p.
/// A row whose nucleus has more than `best` tokens gets no value.
std::vector<std::optional<TruncatedDistribution>> truncate_with_best(const SampledRows& rows,
                                                                     const SamplingConfig& config,
                                                                     std::int64_t best) {
  Attempt attempt(rows, config, best);
  for_each_piece(rows.model, rows.hidden,
                 [&](const LogitsPiece& raw) { attempt.fold(raw, rows, config); });
  const HostSums host = read_sums(attempt.results(rows, config));
  check_sums(rows, host.log_sums);
  std::vector<std::optional<TruncatedDistribution>> result;
  for (std::int64_t n = 0; n < rows.hidden.size(0); ++n) {
    std::optional<double> total;
    if (Attempt::needs_total(config)) total = host.log_totals.const_data_ptr<float>()[n];
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

/// All logits of a row, and its DrawnToken::divergence.
struct WholeRow {
  at::Tensor logits;  // one per token of the vocabulary, on the CPU
  double divergence = 0.0;
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
