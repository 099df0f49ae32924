#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <mgpu/kernels/gated_activation.hpp>
#include <mgpu/kernels/online_logsumexp.hpp>
#include <mgpu/kernels/packed_product.hpp>
#include <mgpu/kernels/paged_attention.hpp>
#include <mgpu/kernels/rms_norm.hpp>

// Computes the same as the kernels of decoders in cpu:: and cuda::, by plain loops in double.
namespace mgpu::kernels::reference {

inline void rms_norm(const RmsNormArgs& args) {
  for (std::size_t n = 0; n < args.rows; ++n) {
    const float* x = args.x + n * args.width;
    double sum = 0.0;
    for (std::size_t i = 0; i < args.width; ++i)
      sum += static_cast<double>(x[i]) * x[i];
    const double root = std::sqrt(sum / static_cast<double>(args.width) + args.epsilon);
    for (std::size_t i = 0; i < args.width; ++i)
      args.out[n * args.width + i] = static_cast<float>(x[i] / root * args.weight[i]);
  }
}

/// Returns x W^T for unpacked weights W [O, I].
inline std::vector<double> product(const std::vector<float>& x, const std::vector<float>& weight,
                                   std::size_t inputs) {
  std::vector<double> out;
  for (std::size_t n = 0; n < x.size() / inputs; ++n) {
    for (std::size_t o = 0; o < weight.size() / inputs; ++o) {
      double sum = 0.0;
      for (std::size_t i = 0; i < inputs; ++i)
        sum += static_cast<double>(x[n * inputs + i]) * weight[o * inputs + i];
      out.push_back(sum);
    }
  }
  return out;
}

inline double activation(double x, const GatedActivationArgs& args) {
  const ActivationKind kind = args.kind;
  constexpr double kPi = 3.14159265358979323846;
  if (kind == ActivationKind::silu) return x / (1.0 + std::exp(-x));
  if (kind == ActivationKind::clamped) {
    const double low = std::min<double>(x, args.limit);
    return low / (1.0 + std::exp(-args.gain * low));
  }
  if (kind == ActivationKind::gelu) return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
  return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / kPi) * (x + 0.044715 * x * x * x)));
}

inline double gate_factor(double up, const GatedActivationArgs& args) {
  if (args.kind != ActivationKind::clamped) return up;
  return std::clamp<double>(up, -args.limit, args.limit) + 1.0;
}

inline void gated_activation(const GatedActivationArgs& args) {
  for (std::size_t i = 0; i < args.count; ++i)
    args.out[i] = static_cast<float>(activation(args.gate[i], args) *
                                     (args.up == nullptr ? 1.0 : gate_factor(args.up[i], args)));
}

/// Computes one head of one query.
inline void attend(const PagedAttentionArgs& args, std::size_t n, std::size_t h) {
  const std::int64_t end = args.positions[n] + 1;
  const std::int64_t first = args.window == 0 ? 0 : std::max<std::int64_t>(0, end - args.window);
  const std::size_t group = h / (args.heads / args.kv_heads);
  const float* query = args.queries + (n * args.heads + h) * args.head_dim;
  const auto line = [&](std::int64_t token) {
    const auto t = static_cast<std::size_t>(token);
    const auto s = static_cast<std::size_t>(args.sequences[n]);
    const auto page =
        static_cast<std::size_t>(args.page_slots[s * args.page_pitch + t / args.page_tokens]);
    return ((page + t % args.page_tokens) * args.kv_heads + group) * args.head_dim;
  };
  std::vector<double> sums(args.head_dim, 0.0);
  double total = args.sinks == nullptr ? 0.0 : std::exp(static_cast<double>(args.sinks[h]));
  for (std::int64_t t = first; t < end; ++t) {
    double score = 0.0;
    for (std::size_t c = 0; c < args.head_dim; ++c)
      score += static_cast<double>(query[c]) * args.keys[line(t) + c];
    const double weight = std::exp(score * args.scale);
    total += weight;
    for (std::size_t c = 0; c < args.head_dim; ++c)
      sums[c] += weight * args.values[line(t) + c];
  }
  for (std::size_t c = 0; c < args.head_dim; ++c)
    args.out[(n * args.heads + h) * args.head_dim + c] = static_cast<float>(sums[c] / total);
}

inline void paged_attention(const PagedAttentionArgs& args) {
  for (std::size_t n = 0; n < args.num_queries; ++n)
    for (std::size_t h = 0; h < args.heads; ++h)
      attend(args, n, h);
}

inline void online_logsumexp(const OnlineLogsumexpArgs& args) {
  for (std::size_t n = 0; n < args.rows; ++n) {
    const float* logits = args.logits + n * args.block;
    const float top = std::max(args.tops[n], *std::max_element(logits, logits + args.block));
    double sum = args.sums[n] * std::exp(static_cast<double>(args.tops[n]) - top);
    std::vector<std::pair<float, std::int64_t>> all;  // (-logit, id): ascending is best first
    for (std::size_t k = 0; k < args.best; ++k)
      if (args.best_ids[n * args.best + k] >= 0)
        all.emplace_back(-args.best_logits[n * args.best + k], args.best_ids[n * args.best + k]);
    for (std::size_t i = 0; i < args.block; ++i) {
      const std::int64_t id = args.first_id + static_cast<std::int64_t>(i);
      sum += std::exp(static_cast<double>(logits[i]) - top);
      all.emplace_back(-logits[i], id);
      if (args.targets != nullptr && args.targets[n] == id) args.picked[n] = logits[i];
    }
    args.tops[n] = top;
    args.sums[n] = static_cast<float>(sum);
    std::sort(all.begin(), all.end());
    for (std::size_t k = 0; k < std::min(args.best, all.size()); ++k) {
      args.best_logits[n * args.best + k] = -all[k].first;
      args.best_ids[n * args.best + k] = all[k].second;
    }
  }
}

}  // namespace mgpu::kernels::reference
