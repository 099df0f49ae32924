#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <mgpu/kernels/adamw_step.hpp>
#include <mgpu/kernels/causal_attention.hpp>
#include <mgpu/kernels/cross_entropy.hpp>
#include <mgpu/kernels/dropout.hpp>
#include <mgpu/kernels/sample_action.hpp>

// Computes the same as the kernels in cpu:: and cuda::, by plain loops in double.
namespace mgpu::kernels::reference {

/// Returns whether the element is kept: its 16 random bits are not below the threshold. Requires
/// element < 2^35.
inline bool is_kept(const DropoutSite& site, std::uint64_t sample, std::uint64_t element) {
  const auto in_run = static_cast<std::uint32_t>(element % kDropoutRun);
  const auto block = static_cast<std::uint32_t>(element / kDropoutRun * 16 + in_run % 16);
  const RandomStream stream(site.seed, kDropoutMasks, site.site, sample);
  const std::uint32_t word = stream.block(block)[in_run / 32];
  return ((word >> (in_run / 16 % 2 * 16)) & 0xFFFF) >= site.threshold;
}

inline void dropout(const DropoutArgs& args) {
  for (std::size_t row = 0; row < args.rows; ++row)
    for (std::size_t line = 0; line < args.lines; ++line)
      for (std::size_t e = 0; e < args.elements; ++e) {
        const std::size_t i = (row * args.lines + line) * args.elements + e;
        const auto sample = static_cast<std::uint64_t>(args.samples[row]);
        const bool keep = is_kept(args.site, sample, line * args.pitch + e);
        const float masked = keep ? args.x[i] * args.site.scale() : 0.0F;
        args.out[i] = args.residual == nullptr ? masked : args.residual[i] + masked;
      }
}

inline void adamw_step(const AdamwArgs& args) {
  for (std::size_t i = 0; i < args.count; ++i) {
    const double g = static_cast<double>(args.grads[i]) * args.grad_scale;
    const double m = static_cast<double>(args.beta1) * args.m[i] + (1.0 - args.beta1) * g;
    const double v = static_cast<double>(args.beta2) * args.v[i] + (1.0 - args.beta2) * g * g;
    const double step = m / args.correction1 / (std::sqrt(v / args.correction2) + args.epsilon);
    const double decay = static_cast<double>(args.learning_rate) * args.weight_decay;
    args.weights[i] = static_cast<float>(args.weights[i] * (1.0 - decay) -
                                         static_cast<double>(args.learning_rate) * step);
    args.m[i] = static_cast<float>(m);
    args.v[i] = static_cast<float>(v);
  }
}

/// Returns runs of several lengths, some of them empty if there are few weights.
inline AdamwRuns runs_of(std::size_t count) {
  return {4, false, {count / 7, count / 3, std::min(count / 3 + 1, count), count}};
}

/// Returns the arguments for the weights of run `r`, which begins with weight `begin`.
inline AdamwArgs run_of(AdamwArgs args, const AdamwRuns& runs, std::size_t r, std::size_t begin) {
  args.weights += begin;
  args.grads += begin;
  args.m += begin;
  args.v += begin;
  args.count = runs.ends[r] - begin;
  if ((r % 2 == 0) != runs.first_decays) args.weight_decay = 0.0F;
  return args;
}

inline void adamw_step(const AdamwArgs& args, const AdamwRuns& runs) {
  std::size_t begin = 0;
  for (std::size_t r = 0; r < runs.count; begin = runs.ends[r++])
    adamw_step(run_of(args, runs, r, begin));
}

/// Returns the softmax of a row, computed in double.
inline std::vector<double> softmax(const float* row, std::size_t count) {
  double top = -std::numeric_limits<double>::infinity();
  for (std::size_t a = 0; a < count; ++a)
    top = std::max<double>(top, row[a]);
  std::vector<double> p(count);
  double sum = 0.0;
  for (std::size_t a = 0; a < count; ++a)
    sum += p[a] = std::exp(row[a] - top);
  for (double& x : p)
    x /= sum;
  return p;
}

inline void cross_entropy(const CrossEntropyArgs& args) {
  *args.out = {};
  const double smoothing = args.label_smoothing;
  const auto classes = static_cast<double>(args.classes);
  for (std::size_t n = 0; n < args.predictions; ++n) {
    const float* row = args.logits + n * args.classes;
    const std::int64_t target = args.targets[n];
    const bool ignored = target == kIgnoreTarget;
    const bool bad = !ignored && (target < 0 || target >= static_cast<std::int64_t>(args.classes));
    const std::vector<double> p = softmax(row, args.classes);
    for (std::size_t a = 0; a < args.classes; ++a) {
      const double q =
          smoothing / classes + (static_cast<std::int64_t>(a) == target ? 1.0 - smoothing : 0.0);
      if (!ignored && !bad) args.out->loss -= q * std::log(p[a]);
      const double grad = bad ? std::nan("") : args.grad_scale * (p[a] - q);
      if (args.grad != nullptr)
        args.grad[n * args.classes + a] = ignored ? 0.0F : static_cast<float>(grad);
    }
    if (bad) args.out->loss = std::nan("");
    if (!ignored) ++args.out->count;
    if (!ignored && std::max_element(row, row + args.classes) - row == target) ++args.out->correct;
  }
}

inline void sample_action(const SampleActionArgs& args) {
  for (std::size_t n = 0; n < args.rows; ++n) {
    const float* row = args.logits + n * args.classes;
    args.actions[n] = kNoAction;
    const bool has_nan =
        std::any_of(row, row + args.classes, [](float x) { return std::isnan(x); });
    if (has_nan || !std::isfinite(*std::max_element(row, row + args.classes))) continue;
    const std::vector<double> p = softmax(row, args.classes);
    double reached = 0.0;
    for (std::size_t a = 0; a < args.classes && reached <= args.uniforms[n]; ++a) {
      if (p[a] > 0.0) args.actions[n] = static_cast<std::int64_t>(a);
      reached += p[a];
    }
  }
}

/// Returns the offset of [row, token, part, head, 0] in [B, T, parts, H, C].
inline std::size_t place(const CausalAttentionArgs& args, std::size_t row, std::size_t token,
                         std::size_t head, std::size_t parts, std::size_t part) {
  return (((row * args.tokens + token) * parts + part) * args.heads + head) * args.head_dim;
}

inline double dot(const float* a, const float* b, std::size_t count) {
  double sum = 0.0;
  for (std::size_t c = 0; c < count; ++c)
    sum += static_cast<double>(a[c]) * b[c];
  return sum;
}

/// The attention of one query: probabilities of keys 0 .. query, dropout factors, log sum exp.
struct Attended {
  std::vector<double> p;
  std::vector<double> factor;
  double log_sum;
};

inline Attended attend(const CausalAttentionArgs& args, std::size_t row, std::size_t head,
                       std::size_t query) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(args.head_dim));
  Attended seen{std::vector<double>(query + 1), std::vector<double>(query + 1, 1.0), 0.0};
  double sum = 0.0;
  for (std::size_t k = 0; k <= query; ++k) {
    sum += seen.p[k] =
        std::exp(scale * dot(args.qkv + place(args, row, query, head, 3, 0),
                             args.qkv + place(args, row, k, head, 3, 1), args.head_dim));
    if (args.dropout.threshold == 0) continue;
    const auto sample = static_cast<std::uint64_t>(args.samples[row]);
    const bool keep =
        is_kept(args.dropout, sample, (query * args.heads + head) * kAttentionPitch + k);
    seen.factor[k] = keep ? args.dropout.scale() : 0.0;
  }
  for (double& p : seen.p)
    p /= sum;
  seen.log_sum = std::log(sum);
  return seen;
}

inline void causal_attention(const CausalAttentionArgs& args) {
  for (std::size_t row = 0; row < args.rows; ++row)
    for (std::size_t head = 0; head < args.heads; ++head)
      for (std::size_t query = 0; query < args.tokens; ++query) {
        const Attended seen = attend(args, row, head, query);
        args.log_sums[(row * args.heads + head) * args.tokens + query] =
            static_cast<float>(seen.log_sum);
        for (std::size_t c = 0; c < args.head_dim; ++c) {
          double sum = 0.0;
          for (std::size_t k = 0; k <= query; ++k)
            sum += seen.p[k] * seen.factor[k] * args.qkv[place(args, row, k, head, 3, 2) + c];
          args.out[place(args, row, query, head, 1, 0) + c] = static_cast<float>(sum);
        }
      }
}

inline void causal_attention_grad(const CausalAttentionGradArgs& grad) {
  const CausalAttentionArgs& args = grad.forward;
  const double scale = 1.0 / std::sqrt(static_cast<double>(args.head_dim));
  std::vector<double> sums(args.rows * args.tokens * 3 * args.heads * args.head_dim, 0.0);
  for (std::size_t row = 0; row < args.rows; ++row)
    for (std::size_t head = 0; head < args.heads; ++head)
      for (std::size_t query = 0; query < args.tokens; ++query) {
        const Attended seen = attend(args, row, head, query);
        const float* go = grad.grad_out + place(args, row, query, head, 1, 0);
        const std::size_t q = place(args, row, query, head, 3, 0);
        std::vector<double> grad_p(query + 1);
        double mean = 0.0;
        for (std::size_t k = 0; k <= query; ++k) {
          grad_p[k] =
              seen.factor[k] * dot(go, args.qkv + place(args, row, k, head, 3, 2), args.head_dim);
          mean += seen.p[k] * grad_p[k];
        }
        for (std::size_t k = 0; k <= query; ++k) {
          const double grad_score = seen.p[k] * (grad_p[k] - mean) * scale;
          const std::size_t key = place(args, row, k, head, 3, 1);
          const std::size_t value = place(args, row, k, head, 3, 2);
          for (std::size_t c = 0; c < args.head_dim; ++c) {
            sums[q + c] += grad_score * args.qkv[key + c];
            sums[key + c] += grad_score * args.qkv[q + c];
            sums[value + c] += seen.p[k] * seen.factor[k] * go[c];
          }
        }
      }
  std::transform(sums.begin(), sums.end(), grad.grad_qkv,
                 [](double x) { return static_cast<float>(x); });
}

}  // namespace mgpu::kernels::reference
