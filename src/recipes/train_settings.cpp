#include "train_settings.hpp"

#include <mgpu/config/check_together.hpp>

namespace mgpu::recipes {

std::int64_t LoopSettings::planned_evaluations() const {
  if (evaluation_values == 0) return 0;
  const std::int64_t steps = optimizer.schedule.max_steps;
  const std::int64_t regular = train.eval_every == 0 ? 0 : steps / train.eval_every;
  const bool last_is_regular = train.eval_every > 0 && steps % train.eval_every == 0;
  return regular + (evaluates_last_step && !last_is_regular ? 1 : 0);
}

bool LoopSettings::evaluates_after(std::int64_t steps_done) const {
  if (evaluation_values == 0) return false;
  if (evaluates_last_step && steps_done == optimizer.schedule.max_steps) return true;
  return train.eval_every > 0 && steps_done % train.eval_every == 0;
}

ad::WindowRules TrainSettings::window_rules(const ad::HistoryShape& histories) const {
  return ad::make_window_rules(model.tokens, static_cast<int>(model.n_transit), histories);
}

LoopSettings read_loop_settings(const Config& config) {
  LoopSettings settings;
  check_together({[&] { settings.train = train::read_train_config(config); },
                  [&] { settings.optimizer = train::read_optimizer_config(config); },
                  [&] { settings.checkpoint = store::read_checkpoint_config(config); }});
  settings.seed = static_cast<std::uint64_t>(config.integer("run.seed"));
  return settings;
}

TrainSettings read_train_settings(const Config& config) {
  TrainSettings settings;
  check_together({[&] { settings.data = ad::read_data_config(config); },
                  [&] { settings.model = ad::read_ad_transformer_config(config); },
                  [&] { static_cast<LoopSettings&>(settings) = read_loop_settings(config); },
                  [&] { settings.evaluate = read_evaluate_config(config); }});
  settings.evaluation_values = settings.evaluate.episodes;
  settings.model.compute = settings.optimizer.mixed_precision;
  return settings;
}

}  // namespace mgpu::recipes
