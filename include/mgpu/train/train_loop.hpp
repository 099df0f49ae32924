#pragma once

#include <cstdint>
#include <vector>

#include <mgpu/base/phase_clock.hpp>
#include <mgpu/cluster/group.hpp>
#include <mgpu/train/adamw.hpp>
#include <mgpu/train/gradient_reducer.hpp>
#include <mgpu/train/loss_scaler.hpp>
#include <mgpu/train/lr_schedule.hpp>
#include <mgpu/train/objective.hpp>
#include <mgpu/train/train_config.hpp>

namespace mgpu::train {

/// The metrics of one optimizer step; the same on all ranks.
struct StepRow {
  double loss = 0.0;      // nats per prediction, mean over the global batch
  double accuracy = 0.0;  // share of predictions whose largest logit is the target
  double learning_rate = 0.0;
  double grad_norm = 0.0;  // norm of the mean gradient, before clipping
};

struct StepOutcome {
  StepRow row;
  bool is_applied = true;     // false: the step left the weights unchanged
  bool is_skipped = false;    // batch skipped; false if the step only halved fp16's loss scale
  bool was_repeated = false;  // not finite, but finite when computed again: maybe a hardware fault
  bool stop_asked = false;    // by any rank
  double exposed_wait_s = 0.0;  // seconds of communication that backward did not hide, on this rank
};

/// Runs data-parallel optimizer steps: each rank computes its passes of the global batch, gradients
/// are summed while backward runs, and all ranks make the same update.
///
/// The items and learning rate of a step depend on its number alone. With `run.deterministic:
/// layout` the update has the same bits for any number of ranks.
class TrainLoop {
public:
  struct Parts {
    Objective& objective;
    Adamw& optimizer;
    LossScaler& scaler;
    GradientReducer& reducer;
    const cluster::Group& group;
    PhaseClock& clock;
  };

  /// Keeps the parts, which must outlive this object. Errors: those of plan_micro_batches.
  TrainLoop(const Parts& parts, const TrainConfig& config, const LrSchedule& schedule);

  /// Runs optimizer step `step` (from 0). If `stop_asked` is set on any rank, the outcome tells all
  /// ranks. A loss or gradient that is infinite or NaN is computed again from the same inputs,
  /// unless a smaller loss scale may help. If it is not finite again, the batch is skipped.
  /// Ranks:  collective over the group.
  /// Errors: the failure of one rank on all ranks; Failure E703 (exit 79) when more batches than
  ///         allowed would be skipped; E707 (exit 80) when a repeated gradient becomes finite for
  ///         the second time. E703 leaves the weights unchanged.
  StepOutcome step(std::int64_t step, bool stop_asked);

  const std::vector<MicroBatch>& micro_batches() const { return micro_batches_; }

private:
  struct Sums {
    double loss = 0.0;
    double correct = 0.0;
    bool stop_asked = false;
  };

  /// Identifies the items of a step by the first one, and holds the weight of each prediction in
  /// the gradient.
  struct Batch {
    std::int64_t first = 0;
    double grad_scale = 1.0;
  };

  Sums compute_gradients(const Batch& batch, bool stop_asked, double& exposed_wait_s);
  void run_passes(const Batch& batch, std::vector<double>& sums, double& exposed_wait_s);
  double predictions(std::int64_t first);
  void make_items(std::int64_t first);
  std::int64_t own_predictions(std::int64_t first) const;
  std::int64_t own_items() const;
  double measured(std::int64_t first);
  void survey(std::int64_t first);
  bool holds_on_all_ranks(bool here) const;
  void count_repetition(std::int64_t step);
  [[noreturn]] void give_up(std::int64_t step) const;
  [[noreturn]] void fail(const ErrorReport& report) const;

  Parts parts_;
  TrainConfig config_;
  LrSchedule schedule_;
  std::vector<MicroBatch> micro_batches_;
  std::int64_t skipped_ = 0;      // batches that this attempt skipped
  std::int64_t repetitions_ = 0;  // repeated gradients that became finite
};

}  // namespace mgpu::train
