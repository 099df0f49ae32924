#include "head_stage.hpp"

#include <new>
#include <vector>

#include <ATen/ATen.h>

#include <mgpu/base/failpoint.hpp>
#include <mgpu/tensor/read_back.hpp>

namespace mgpu::lm {
namespace {

at::Tensor ids_tensor(const std::vector<std::int64_t>& ids, const at::Tensor& like) {
  return at::tensor(ids, at::TensorOptions().dtype(at::kLong)).to(like.device());
}

at::Tensor joined(const std::vector<at::Tensor>& parts) {
  return parts.size() == 1 ? parts.front() : at::cat(parts);
}

}  // namespace

PassOutcome HeadStage::run(const HeadRequests& requests, std::span<const DrawSite> sites,
                           const std::function<at::Tensor()>& rows) const {
  if (failpoint("generate.head").error != 0) throw std::bad_alloc();
  PassOutcome outcome;
  score(requests.scored, outcome.scores);
  if (requests.look) requests.look();
  if (!sites.empty()) {
    const at::Tensor hidden = rows();
    outcome.tokens = sampler.draw(model, hidden, sites, processors);
    notify_drawn(sites, outcome.tokens, hidden);
  }
  if (failpoint("generate.drawn").error != 0) throw std::bad_alloc();
  return outcome;
}

/// Appends the log-probabilities of the targets of all requests to `scores`. Requests with few
/// states are combined into one call of apply_head().
void HeadStage::score(std::span<const HeadRequests::Scored> requests,
                      std::vector<float>& scores) const {
  for (std::size_t i = 0; i < requests.size();) {
    std::vector<at::Tensor> rows;
    std::vector<std::int64_t> ids;
    for (; i < requests.size() && std::ssize(ids) < model.sizes().head_rows; ++i) {
      rows.push_back(requests[i].rows);
      ids.insert(ids.end(), requests[i].targets.begin(), requests[i].targets.end());
    }
    const at::Tensor hidden = joined(rows);  // [ids.size(), D]
    if (ids.empty()) continue;
    const at::Tensor log_probs =
        tensor::read_back(apply_head(model, hidden, ids_tensor(ids, hidden), 0).log_probs);
    const float* values = log_probs.const_data_ptr<float>();
    scores.insert(scores.end(), values, values + ids.size());
  }
}

void HeadStage::notify_drawn(std::span<const DrawSite> sites, const std::vector<DrawnToken>& tokens,
                             const at::Tensor& hidden) const {
  if (processors.is_empty()) return;
  std::vector<std::int64_t> ids;
  for (const DrawnToken& token : tokens)
    ids.push_back(token.id);
  const at::Tensor drawn = ids_tensor(ids, hidden);
  for (BlockProcessor* processor : processors.blocks)
    processor->drawn(sites, drawn);
  if (processors.candidate != nullptr) processors.candidate->drawn(sites, drawn);
}

}  // namespace mgpu::lm
