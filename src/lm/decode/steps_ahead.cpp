// Implements the functions with which a DecodeSession draws several tokens before the host reads
// them: can_step_ahead(), steps() and read().
#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <ATen/ATen.h>

#include <mgpu/base/error.hpp>
#include <mgpu/lm/decode/decode_session.hpp>
#include <mgpu/tensor/read_back.hpp>

#include "decode_state.hpp"
#include "lm/forward/step_plan.hpp"
#include "pass_builder.hpp"
#include "truncate_distributions.hpp"

namespace mgpu::lm {
namespace {

/// Returns DrawnSteps::stopped, [T, S] bool for T steps of S sequences: whether a sequence has
/// drawn a stop id in this step or in an earlier one. `ids` has the drawn ids, [T, S].
at::Tensor stopped_by(const at::Tensor& ids, const std::vector<std::int64_t>& stop_ids) {
  at::Tensor stopped = at::zeros(ids.sizes(), ids.options().dtype(at::kBool));
  for (const std::int64_t stop : stop_ids)
    stopped.logical_or_(ids == stop);
  return stopped.cumsum(0, at::kLong) > 0;
}

}  // namespace

bool DecodeSession::can_step_ahead() const {
  return model_->peers() == nullptr && sampler_.can_draw_rows(*model_);
}

DrawnSteps DecodeSession::steps(std::span<const std::int64_t> sequences, std::int64_t count) {
  if (!can_step_ahead() || is_drawing_) throw Error("DecodeSession: steps that need the host");
  require_waiting(sequences);
  const StepPlan plan = model_->plan_steps(sequences, count, state_->cache);
  at::Tensor ids = take_waiting(sequences);  // [S]
  DrawnSteps all;
  for (const std::int64_t sequence : sequences) {
    const DecodeSequence& it = state_->at(sequence);
    all.sites.push_back({it.sample, it.draws, {}, sequence});
  }
  const at::Tensor uniforms = sampler_.uniforms(*model_, all.sites, count, ids.device());
  std::vector<at::Tensor> columns[4];
  at::Tensor hidden;
  std::vector<DrawSite> sites = all.sites;
  for (std::int64_t step = 0; step < count; ++step) {
    hidden = model_->hidden(ids, plan, step, state_->cache);
    const DrawnRows drawn =
        sampler_.draw_rows(*model_, hidden, sites, config_.processors, uniforms[step]);
    ids = drawn.ids;
    notify([&](SequenceWatcher& watcher) { watcher.drawn(sites, ids); });
    columns[0].push_back(ids);
    columns[1].push_back(drawn.log_probs);
    columns[2].push_back(drawn.log_sums);
    columns[3].push_back(drawn.divergences);
    for (DrawSite& site : sites)
      ++site.position;
  }
  all.ids = at::stack(columns[0]);
  all.log_probs = at::stack(columns[1]);
  all.log_sums = at::stack(columns[2]);
  all.divergences = at::stack(columns[3]);
  all.stopped = stopped_by(all.ids, config_.stop_ids);
  keep_steps(all, hidden, sequences);
  return all;
}

/// Throws unless `sequences` are exactly the sequences with pending input, one token each.
void DecodeSession::require_waiting(std::span<const std::int64_t> sequences) const {
  std::vector<std::int64_t> waiting = waiting_->fed();
  std::vector<std::int64_t> asked(sequences.begin(), sequences.end());
  std::sort(waiting.begin(), waiting.end());
  std::sort(asked.begin(), asked.end());
  if (asked.empty() || waiting != asked)
    throw Error("DecodeSession: steps of other sequences than those with a token that waits");
}

/// Removes the pending token of each sequence from the queue (waiting_), and returns these tokens,
/// [S]. The sequences must be those of require_waiting().
at::Tensor DecodeSession::take_waiting(std::span<const std::int64_t> sequences) {
  std::vector<at::Tensor> on_device;
  std::vector<std::int64_t> on_host;
  for (const std::int64_t sequence : sequences) {
    const SequenceInput& input = state_->at(sequence).input;
    if (input.device_ids.defined())
      on_device.push_back(input.device_ids);
    else
      on_host.push_back(input.ids.front());
  }
  waiting_->clear_fed();
  if (on_host.empty()) return at::cat(on_device);
  if (!on_device.empty()) throw Error("DecodeSession: some tokens on the host, some not");
  return integers(on_host, state_->cache.keys(0));
}

void DecodeSession::keep_steps(const DrawnSteps& steps, const at::Tensor& hidden,
                               std::span<const std::int64_t> sequences) {
  const std::int64_t count = steps.ids.size(0);
  const at::Tensor last = steps.ids[count - 1];
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    DecodeSequence& it = state_->at(sequences[s]);
    it.draws += static_cast<std::uint32_t>(count);
    it.context.insert(it.context.end(), static_cast<std::size_t>(count), -1);
    it.states = hidden;
    it.row = static_cast<std::int64_t>(s);
    it.input = {};
    it.input.device_ids = last.narrow(0, it.row, 1);
    it.input.size = 1;
    it.input.is_fed = true;
    waiting_->add(sequences[s], it.input);
  }
}

std::vector<std::vector<DrawnToken>> DecodeSession::read(const DrawnSteps& steps) {
  const auto exact = [](const at::Tensor& column) { return column.to(at::kDouble); };
  const at::Tensor all =
      tensor::read_back(at::stack({exact(steps.ids), exact(steps.log_probs), exact(steps.log_sums),
                                   exact(steps.stopped), steps.divergences}));  // [5, T, S]
  const auto values = all.accessor<double, 3>();
  std::vector<std::vector<DrawnToken>> tokens(steps.sites.size());
  for (std::int64_t t = 0; t < all.size(1); ++t) {
    for (std::size_t s = 0; s < tokens.size(); ++s) {
      const auto row = static_cast<std::int64_t>(s);
      if (t > 0 && values[3][t - 1][row] != 0.0) continue;
      DrawSite site = steps.sites[s];
      site.position += static_cast<std::uint32_t>(t);
      if (!std::isfinite(values[2][t][row])) refuse_row(site);
      tokens[s].push_back({static_cast<std::int64_t>(values[0][t][row]),
                           static_cast<float>(values[1][t][row]), values[4][t][row]});
    }
  }
  return tokens;
}

}  // namespace mgpu::lm
