#include "sizes.hpp"

#include <algorithm>
#include <numeric>

#include <mgpu/ad/ad_transformer.hpp>

#include "tables.hpp"

namespace mgpu::recipes {
namespace {

std::int64_t row_bytes(const store::TableSpec& spec) {
  constexpr std::int64_t kIdBytes = 8;  // bytes per row of column `id`, which seal() adds
  return std::accumulate(spec.columns.begin(), spec.columns.end(), kIdBytes,
                         [](std::int64_t sum, const store::ColumnSpec& column) {
                           return sum + static_cast<std::int64_t>(column.row_bytes());
                         });
}

EvaluationGrid final_grid(const TrainSizes& sizes) {
  EvaluationGrid grid{
      {Control::none}, {}, sizes.settings.evaluate.runs, sizes.settings.evaluate.episodes};
  if (sizes.settings.evaluate.with_controls) {
    grid.controls.assign(kControls.begin(), kControls.end());
  }
  const auto tasks = sizes.environment->test_tasks();
  grid.tasks.assign(tasks.begin(), tasks.end());
  return grid;
}

}  // namespace

TrainSizes::TrainSizes(const AdSettings& of)
    : settings(of),
      environment(ad::make_environment(settings.data.env, settings.data.env_split_seed)),
      history{settings.data.streams, settings.data.episodes, environment->horizon()} {
  // The length of histories in a file is unknown before the ranks read it, so the estimate uses the
  // longest possible window, n_transit tokens.
  window =
      settings.data.path.empty() ? settings.window_rules(history).tokens : settings.model.n_transit;
  weight_bytes = ad::weights_size(settings.model) * std::int64_t{sizeof(float)};
  const store::TableSpec histories = history_table(*environment, history);
  num_histories = histories.rows;
  history_bytes = histories.rows * row_bytes(histories);
  const EvaluationGrid grid = final_grid(*this);
  num_rollouts = grid.size();
  constexpr std::int64_t kOffset = 8;  // bytes of an offset in results.h5, one per episode path
  rollout_bytes =
      grid.episodes * (row_bytes(sample_table(grid)) + environment->horizon() + kOffset);
  constexpr std::int64_t kStepFields = 4;  // numbers per step: loss, accuracy, rate, gradient norm
  curve_bytes = std::int64_t{sizeof(double)} *
                (settings.loop.optimizer.schedule.max_steps * kStepFields +
                 settings.loop.planned_evaluations() * (1 + settings.evaluate.episodes));
}

double TrainSizes::forward_flops(double tokens, double context) const {
  const auto& m = settings.model;
  const auto width = static_cast<double>(m.n_embd);
  const auto layers = static_cast<double>(m.n_layer);
  const auto inner = static_cast<double>(m.n_inner);
  // Multiply-adds of a token in a layer, with D = n_embd and I = n_inner: qkv 3 D^2, out D^2, up
  // and down 2 D I. Causal scores take half of context x D, and so does the product of
  // probabilities and values. A multiply-add is 2 operations.
  const double per_layer = 4.0 * width * width + 2.0 * width * inner + context * width;
  return 2.0 * tokens * layers * per_layer;
}

std::int64_t TrainSizes::rows_at_once(int ranks, DeviceKind device) const {
  const auto passes = train::plan_micro_batches(settings.loop.train.batch, 0, ranks, device);
  return std::max_element(passes.begin(), passes.end(),
                          [](const auto& a, const auto& b) { return a.count < b.count; })
      ->count;
}

}  // namespace mgpu::recipes
