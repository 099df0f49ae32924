#pragma once

#include <vector>

#include <ATen/ATen.h>

#include <mgpu/lm/forward/language_model.hpp>

namespace mgpu::lm {

/// Returns all logits, [N, V]. Asks apply_head() for the V best tokens, and puts their logits in
/// the order of the ids.
inline at::Tensor logits_of(const LanguageModel& model, const at::Tensor& hidden) {
  const HeadResult head = apply_head(model, hidden, {}, model.config().vocab);
  return at::empty_like(head.best_logits).scatter_(1, head.best_ids, head.best_logits);
}

/// Returns the greedy continuation of a prompt, computed with a cache: first the prompt, then token
/// by token.
inline std::vector<std::int64_t> greedy(const LanguageModel& model,
                                        const std::vector<std::int64_t>& prompt,
                                        std::size_t count) {
  const auto tokens = static_cast<std::int64_t>(prompt.size() + count);
  PagedCache cache = model.make_cache({(tokens + 3) / 4, 4});
  const std::int64_t sequence = cache.add();
  std::vector<std::int64_t> out;
  std::vector<std::int64_t> next = prompt;
  while (out.size() < count) {
    const SequenceSpan span{next, sequence};
    const at::Tensor hidden = model.hidden({&span, 1}, cache);
    const HeadResult head = apply_head(model, hidden.narrow(0, hidden.size(0) - 1, 1), {}, 1);
    out.push_back(head.best_ids.item<std::int64_t>());
    next = {out.back()};
  }
  return out;
}

}  // namespace mgpu::lm
