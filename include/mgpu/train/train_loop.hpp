#pragma once

#include <cstdint>
#include <string>
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

/// The metrics of one optimizer step. All ranks have the same values.
struct StepRow {
  double loss = 0.0;      // mean over the predictions of the global batch; in nats for most losses
  double accuracy = 0.0;  // share of correct predictions, as the recipe counts them
  double learning_rate = 0.0;
  double grad_norm = 0.0;  // norm of the mean gradient, before clipping
  /// Mean cross-entropy of the targets, in nats per prediction; 0 if the loss does not compute it.
  double cross_entropy = 0.0;
};

struct StepOutcome {
  StepRow row;
  bool is_applied = true;   // false: the step left the weights unchanged
  bool is_skipped = false;  // true: the batch was skipped; stays false if only the loss scale of
                            // fp16 was halved
  /// True if the loss or gradient was not finite at first, but both were finite when they were
  /// computed again. A hardware fault may be the cause.
  bool was_repeated = false;
  bool stop_asked = false;      // whether any rank was asked to stop
  double exposed_wait_s = 0.0;  // seconds that this rank waited for communication after backward
};

/// Runs data-parallel optimizer steps. Each rank computes its passes of the global batch, gradients
/// are summed over the ranks while backward runs, and all ranks make the same update.
///
/// The items and the learning rate of a step depend only on the number of the step. With
/// `run.deterministic: layout` an update has the same bits for any number of ranks that divides
/// train.lanes.
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

  /// Keeps references to the objects of `parts`, which must outlive this object.
  /// Errors: those of plan_micro_batches().
  TrainLoop(const Parts& parts, const TrainConfig& config, const LrSchedule& schedule);

  /// Runs optimizer step `step` (from 0). If `stop_asked` is true on any rank,
  /// StepOutcome::stop_asked is true on all ranks.
  ///
  /// If the loss or gradient is infinite or NaN, the weights stay unchanged. In fp16 with a loss
  /// scale above 1, the scale is then halved. Otherwise the loss and the gradient are computed
  /// again from the same inputs. If one of them is still not finite, the batch is skipped.
  ///
  /// Ranks:  collective over Parts::group.
  /// Errors: if one rank fails, all ranks throw its failure. If that rank cannot synchronize with
  ///         the others any more, it throws DivergedFailure. Failure E703 (exit 79) when more
  ///         batches than train.max_skipped_steps would be skipped. Failure E707 (exit 80) when,
  ///         for the second time since the start of this process, a gradient is finite only after
  ///         it was computed again.
  StepOutcome step(std::int64_t step, bool stop_asked);

  const std::vector<MicroBatch>& micro_batches() const { return micro_batches_; }

private:
  struct Sums {
    double loss = 0.0;
    double correct = 0.0;
    double cross_entropy = 0.0;
    bool stop_asked = false;
  };

  /// The items that a step learns from, and the factor that multiplies their losses before
  /// backward. `first` is the id of the first item.
  struct Batch {
    std::int64_t first = 0;
    double grad_scale = 1.0;
  };

  Sums compute_gradients(const Batch& batch, bool stop_asked, double& exposed_wait_s);
  void run_passes(const Batch& batch, std::vector<double>& sums, double& exposed_wait_s);
  double predictions(std::int64_t first);
  void make_items(std::int64_t first);
  void replace_items();
  std::vector<std::string> from_all(const std::string& mine) const;
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
  std::int64_t skipped_ = 0;      // batches skipped since the process started
  std::int64_t repetitions_ = 0;  // gradients that were finite only when computed again
};

}  // namespace mgpu::train
