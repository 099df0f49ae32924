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

/// What one optimizer step did; the same on all ranks.
struct StepRow {
  double loss = 0.0;           // nats per prediction, mean over the global batch
  double accuracy = 0.0;       // share of predictions whose largest logit is the target
  double learning_rate = 0.0;  //
  double grad_norm = 0.0;      // of the mean gradient, before clipping
};

struct StepOutcome {
  StepRow row;
  bool is_applied = true;       // false: the weights are as they were before the step
  bool is_skipped = false;      // and not for fp16's loss scale, which was halved otherwise
  bool was_repeated = false;    // not finite at first, then finite: a fault of the hardware?
  bool stop_asked = false;      // by any rank
  double exposed_wait_s = 0.0;  // communication that backward did not hide, this rank
};

/// Data-parallel optimizer steps: every rank works on its passes of the global batch, gradients
/// are summed while backward runs, all ranks make the same update.
///
/// Which items a step uses and what the learning rate is depends on the step alone. With
/// `run.deterministic: layout` the update has the same bits at any number of ranks.
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

  /// All parts have to outlive this. Errors: those of plan_passes.
  TrainLoop(const Parts& parts, const TrainConfig& config, const LrSchedule& schedule);

  /// Optimizer step number `step` (from 0). `stop_asked` of any rank reaches all.
  ///
  /// Ranks:  collective over the group.
  /// A loss or gradient that is infinite or NaN without a loss scale to blame is computed again
  /// from the same inputs. If it is so again, the batch is skipped.
  ///
  /// Errors: the failure of one rank on all ranks; Failure E703 (exit 79) when more batches would
  ///         have to be skipped than may be, E707 (exit 80) when a second gradient differs from
  ///         its repetition in being finite. Neither has updated anything.
  StepOutcome step(std::int64_t step, bool stop_asked);

  const std::vector<Pass>& passes() const { return passes_; }

private:
  struct Sums {
    double loss = 0.0;
    double correct = 0.0;
    bool stop_asked = false;
  };

  /// Items of the global batch, and what each of their predictions adds to the gradient.
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
  bool is_so_everywhere(bool here) const;
  void count_repetition(std::int64_t step);
  [[noreturn]] void give_up(std::int64_t step) const;
  [[noreturn]] void fail(const Report& report) const;

  Parts parts_;
  TrainConfig config_;
  LrSchedule schedule_;
  std::vector<Pass> passes_;
  std::int64_t skipped_ = 0;      // steps, in this attempt
  std::int64_t repetitions_ = 0;  // that came out finite
};

}  // namespace mgpu::train
