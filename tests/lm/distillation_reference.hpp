#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/lm/training/trainable_model.hpp>

// Makes targets from whole distributions, and computes their losses by plain formulas.
// Shapes: N tokens, V vocabulary.
namespace mgpu::lm {

/// Returns logits whose distributions have tails like those of language models.
inline at::Tensor teacher_logits(std::int64_t tokens, std::int64_t vocab, std::uint64_t seed) {
  at::manual_seed(seed);
  return at::randn({tokens, vocab}, at::kDouble) * 3.0;
}

/// Returns targets with the `k` most probable ids of each token. With `has_tail`, the mass of the
/// other ids is the tail. Otherwise the probabilities are divided by their sum.
inline TeacherTargets best_of(const at::Tensor& probs, std::int64_t k, bool has_tail) {
  TeacherTargets targets;
  const auto [best, ids] = probs.topk(k, 1);
  for (std::int64_t n = 0; n < probs.size(0); ++n) {
    const double mass = best[n].sum().item<double>();
    for (std::int64_t i = 0; i < k; ++i) {
      targets.ids.push_back(ids[n][i].item<std::int64_t>());
      const double p = best[n][i].item<double>() / (has_tail ? 1.0 : mass);
      targets.log_probs.push_back(static_cast<float>(std::log(p)));
    }
    targets.ends.push_back(std::ssize(targets.ids));
    targets.tail_mass.push_back(has_tail ? static_cast<float>(1.0 - mass) : 0.0F);
  }
  return targets;
}

/// Returns the relative frequencies of `draws` ids drawn from each distribution.
inline TeacherTargets drawn_of(const at::Tensor& probs, std::int64_t draws) {
  TeacherTargets targets;
  const at::Tensor drawn = probs.multinomial(draws, true);  // [N, M]
  for (std::int64_t n = 0; n < probs.size(0); ++n) {
    const at::Tensor counts = drawn[n].bincount({}, probs.size(1));
    for (std::int64_t id = 0; id < probs.size(1); ++id) {
      const std::int64_t count = counts[id].item<std::int64_t>();
      if (count == 0) continue;
      targets.ids.push_back(id);
      targets.log_probs.push_back(
          static_cast<float>(std::log(static_cast<double>(count) / static_cast<double>(draws))));
    }
    targets.ends.push_back(std::ssize(targets.ids));
    targets.tail_mass.push_back(0.0F);
  }
  return targets;
}

/// Log-probabilities of classes, [N, K + 1], according to the targets and to the student. A class
/// is one of K ids, or all other ids together.
struct Classes {
  at::Tensor log_p;
  at::Tensor log_q;
};

/// Returns the classes, computed token by token with a mask over the whole vocabulary. Lists have
/// equal lengths.
inline Classes classes_of(const TeacherTargets& targets, const at::Tensor& log_probs) {
  std::vector<at::Tensor> p;
  std::vector<at::Tensor> q;
  for (std::int64_t n = 0; n < log_probs.size(0); ++n) {
    const std::int64_t begin = n == 0 ? 0 : targets.ends[static_cast<std::size_t>(n - 1)];
    const std::int64_t end = targets.ends[static_cast<std::size_t>(n)];
    const at::Tensor ids = at::tensor(
        std::vector<std::int64_t>(targets.ids.begin() + begin, targets.ids.begin() + end));
    const at::Tensor logs = at::tensor(std::vector<float>(targets.log_probs.begin() + begin,
                                                          targets.log_probs.begin() + end))
                                .to(at::kDouble);
    const auto tail = static_cast<double>(std::log(targets.tail_mass[static_cast<std::size_t>(n)]));
    const at::Tensor others = at::ones({log_probs.size(1)}, at::kBool).index_fill(0, ids, false);
    p.push_back(at::cat({logs, at::full({1}, tail, at::kDouble)}));
    q.push_back(at::cat({log_probs[n].index_select(0, ids),
                         log_probs[n].masked_select(others).logsumexp(0).view(1)}));
  }
  return {at::stack(p), at::stack(q)};
}

/// Returns the sum of divergences by the plain formulas, for autograd.
inline at::Tensor divergence(const Distillation& how, const Classes& classes) {
  const at::Tensor& log_p = classes.log_p;
  const at::Tensor& log_q = classes.log_q;
  const at::Tensor p = log_p.exp();
  const at::Tensor is_some = p > 0;
  const at::Tensor finite_p = log_p.masked_fill(p == 0, 0.0);
  switch (how.divergence) {
    case Divergence::forward_kl:
      return at::where(is_some, p * (finite_p - log_q), 0.0).sum();
    case Divergence::cross_entropy:
      return at::where(is_some, -p * log_q, 0.0).sum();
    case Divergence::reverse_kl:
      return (log_q.exp() * (log_q - log_p)).sum();
    case Divergence::jsd:
      break;
  }
  const at::Tensor q = log_q.exp();
  const at::Tensor m = how.beta * p + (1.0 - how.beta) * q;
  return (how.beta * at::where(is_some, p * (finite_p - m.log()), 0.0) +
          (1.0 - how.beta) * q * (log_q - m.log()))
      .sum();
}

}  // namespace mgpu::lm
