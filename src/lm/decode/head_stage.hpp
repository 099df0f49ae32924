#pragma once

#include <functional>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>

#include <mgpu/lm/decode/decode_session.hpp>

#include "pass_outcome.hpp"

// Shapes in this header: N rows, D width.
namespace mgpu::lm {

/// The work of the vocabulary head for one pass: it scores the tokens of HeadRequests::scored,
/// calls HeadRequests::look, and draws tokens.
struct HeadStage {
  const LanguageModel& model;
  const Sampler& sampler;
  const LogitProcessors& processors;

  /// Computes the log-probabilities that `requests` asks for, draws one token per site, and returns
  /// all results. `rows` returns the hidden states to draw from, [N, D], one per site.
  /// Ranks:  collective over the ranks that have the head
  PassOutcome run(const HeadRequests& requests, std::span<const DrawSite> sites,
                  const std::function<at::Tensor()>& rows) const;

private:
  void score(std::span<const HeadRequests::Scored> requests, std::vector<float>& scores) const;
  void notify_drawn(std::span<const DrawSite> sites, const std::vector<DrawnToken>& tokens,
                    const at::Tensor& hidden) const;
};

}  // namespace mgpu::lm
